"""What both ends of the messenger (AIM 2) must agree on to the byte: names, signatures, envelopes, work, seals."""
