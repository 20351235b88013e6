"""Measures flare beside its peers and judges what is claimed of it.

`claims` judges, `workloads` says what is asked for and what is claimed,
`targets` who answers, `generators` who asks, `integrity` what a right answer
is, `rounds` and `measures` how it is measured, `network` and `wakeful` where,
`report` and `charts` write it down, and `command` puts them together.
"""
