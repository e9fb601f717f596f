"""Does a site keep AWP 1.0? Its checklist measured line by line, manifests with line and column (AWP.md section 4)."""
