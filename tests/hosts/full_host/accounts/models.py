"""People who sign in by e-mail: no username anywhere."""

from typing import Any

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.db import models


class People(BaseUserManager["Person"]):
    def create_superuser(self, email: str, password: str, **fields: Any) -> "Person":
        person = self.model(email=email, is_staff=True, is_superuser=True, **fields)
        person.set_password(password)
        person.save(using=self._db)
        return person


class Person(AbstractBaseUser, PermissionsMixin):
    email = models.EmailField(unique=True)
    is_staff = models.BooleanField(default=False)
    is_active = models.BooleanField(default=True)

    USERNAME_FIELD = "email"
    objects = People()
