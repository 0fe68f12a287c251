"""Verification: is each stage of the scheduling what the next one takes for granted?"""
