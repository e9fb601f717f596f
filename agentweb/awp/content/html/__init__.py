"""A page's HTML, made ready to be written as Markdown. Everything here works on one parsed page, in place.

Whatever is changed is renamed or emptied where it stands: taking elements out of a page one by one joins the texts
around them, which takes quadratic time in a page of a hundred thousand of them.
"""
