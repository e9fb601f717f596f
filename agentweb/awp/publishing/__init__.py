"""The documents of AWP: pure builders, one for each, over what the site declares and what its content says."""
