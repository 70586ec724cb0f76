"""Imports chosen modules of an engine from a folder, and stands in for all others: they need a GPU, or large libraries.

install(folder, root, real) makes `import root...` load those modules from the folder whose names are in real, or begin
with one of them and a dot. All other modules of the engine, and modules that are not installed, are stand-ins: their
names are classes that can be called, subclassed, subscripted and used as decorators, and do nothing.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys


class Anything(type):
    """The class of stand-ins, which are classes themselves."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        made = stand_in(name)
        setattr(cls, name, made)
        return made

    def __getitem__(cls, key):
        return cls

    def __or__(cls, other):  # of annotations
        return cls

    def __ror__(cls, other):
        return cls

    def __iter__(cls):
        return iter(())

    def __call__(cls, *args, **kwargs):
        if "is_stand_in" not in cls.__dict__:
            return super().__call__(*args, **kwargs)  # a subclass of the engine's own
        if len(args) == 1 and not kwargs and callable(args[0]):
            return args[0]  # a decorator
        return super().__call__()


def stand_in(name):
    def attribute(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return stand_in(name)

    def call(self, *args, **kwargs):
        return args[0] if args and callable(args[0]) else None

    return Anything(name, (), {"is_stand_in": True, "__getattr__": attribute, "__call__": call})


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, folder, root, real):
        self.folder, self.root, self.real = folder, root, real

    def is_real(self, name):
        return any(name == r or name.startswith(r + ".") for r in self.real)

    def find_spec(self, name, path=None, target=None):
        first = name.split(".")[0]
        if self.is_real(name):
            at = os.path.join(self.folder, *name.split("."))
            if os.path.isdir(at):
                return importlib.util.spec_from_file_location(
                    name, os.path.join(at, "__init__.py"), submodule_search_locations=[at])
            return importlib.util.spec_from_file_location(name, at + ".py")
        if first == self.root or first not in sys.stdlib_module_names:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def exec_module(self, module):
        made = {}

        def attribute(name):
            if name.startswith("__"):
                raise AttributeError(name)
            return made.setdefault(name, stand_in(name))

        module.__getattr__ = attribute


def install(folder, root, real):
    sys.meta_path.insert(0, StandIns(folder, root, real))
