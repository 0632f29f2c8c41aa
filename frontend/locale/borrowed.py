"""Sentences of others that people meet on our pages and in our mails.

Python's parsers have no Chinese, the Chinese of allauth is formal (您) and uneven, and Django's “6分钟之前” and “3 日”
are not how people write times.
Named here so that `make messages` keeps them; the .po of this folder is read before a library's. Nothing imports this.
"""

from django.utils.translation import gettext_noop as _
from django.utils.translation import ngettext_lazy, npgettext_lazy

MESSAGES = (
    _("You have signed out."),
    _("Signed out of all other sessions."),
    _("Password successfully set."),
    _("Password successfully changed."),
    _("Confirmation email sent to %(email)s."),
    _("You have confirmed %(email)s."),
    _("Unable to confirm %(email)s because it is already confirmed by a different account."),
    _("Removed email address %(email)s."),
    _("Primary email address set."),
    _("You cannot remove your primary email address (%(email)s)."),
    _("A new set of recovery codes has been generated."),
    _("Save them  in a secure location now — they won't be shown again."),
    _("Authenticator app activated."),
    _("Authenticator app deactivated."),
    _("The third-party account has been connected."),
    _("The third-party account has been disconnected."),
)
LABELS = (
    _("Authenticator code"),
    _("Email (again)"),
    _("Email (optional)"),
    _("Email address"),
    _("Forgot your password?"),
    _("Password (again)"),
    _("Username or email"),
)
ERRORS = (
    _("A user is already registered with this email address."),
    _(
        "An account already exists with this email address. Please sign in to that account first, "
        "then connect your %s account."
    ),
    _("Be patient, you are sending too many requests."),
    _("Incorrect code."),
    _("Incorrect password."),
    _("Invalid or expired key."),
    _("Please type your current password."),
    _("The email address and/or password you specified are not correct."),
    _("The email address is not assigned to any user account."),
    _("The new value must be different from the current one."),
    _("The password reset token was invalid."),
    _("The third-party account is already connected to a different account."),
    _("The username and/or password you specified are not correct."),
    _("This account is currently inactive."),
    _("This email address is already associated with this account."),
    _("Too many failed login attempts. Try again later."),
    _("Use authenticator app or code"),
    _("Use your password"),
    _("Username can not be used. Please use other username."),
    _("You cannot add an email address to an account protected by two-factor authentication."),
    _("You cannot add more than %d email addresses."),
    _("You cannot deactivate two-factor authentication."),
    _("You cannot disconnect your last remaining third-party account."),
    _("You cannot generate recovery codes without having two-factor authentication enabled."),
    _("You cannot remove your primary email address."),
    _("You must type the same email each time."),
    _("You must type the same password each time."),
    _("Your account has no password set up."),
    _("Your account has no verified email address."),
    _("Your primary email address must be verified."),
)
MAILS = (
    _("Hello from %(site_name)s!"),
    _("Thank you for using %(site_name)s!\n%(site_domain)s"),
    _("Password Reset Email"),
    _(
        "You're receiving this email because you or someone else has requested a password reset for your user "
        "account.\nIt can be safely ignored if you did not request a password reset. Click the link below to reset "
        "your password."
    ),
    _("In case you forgot, your username is %(username)s."),
    _("Unknown Account"),
    _(
        "You are receiving this email because you, or someone else, tried to access an account with email %(email)s. "
        "However, we do not have any record of such an account in our database."
    ),
    _("This mail can be safely ignored if you did not initiate this action."),
    _("If it was you, you can sign up for an account using the link below."),
    _("Please Confirm Your Email Address"),
    _(
        "You're receiving this email because user %(user_display)s has given your email address to register an account "
        "on %(site_domain)s."
    ),
    _("To confirm this is correct, go to %(activate_url)s"),
    _("Account Already Exists"),
    _(
        "You are receiving this email because you or someone else tried to signup for an\n"
        "account using email address:\n\n%(email)s\n\n"
        "However, an account using that email address already exists.  In case you have\n"
        "forgotten about this, please use the password forgotten procedure to recover\n"
        "your account:\n\n%(password_reset_url)s"
    ),
)
PASSWORDS = (
    ngettext_lazy(
        "This password is too short. It must contain at least %d character.",
        "This password is too short. It must contain at least %d characters.",
        8,
    ),
)
AGO = (
    _("now"),
    ngettext_lazy("a second ago", "%(count)s\u00a0seconds ago", 1),
    ngettext_lazy("a minute ago", "%(count)s\u00a0minutes ago", 1),
    ngettext_lazy("an hour ago", "%(count)s\u00a0hours ago", 1),
    _("%(delta)s ago"),
    npgettext_lazy("naturaltime-past", "%(num)d day", "%(num)d days", 1),
    npgettext_lazy("naturaltime-past", "%(num)d month", "%(num)d months", 1),
    ngettext_lazy("%(num)d day", "%(num)d days", 1),
    ngettext_lazy("%(num)d month", "%(num)d months", 1),
    _(", "),
)
PARSERS = (
    _("Expecting value"),
    _("Expecting property name enclosed in double quotes"),
    _("Expecting ',' delimiter"),
    _("Expecting ':' delimiter"),
    _("Illegal trailing comma before end of object"),
    _("Illegal trailing comma before end of array"),
    _("Extra data"),
    _("Unterminated string starting at"),
    _("Invalid control character at"),
    _("Invalid \\escape"),
    _("Invalid \\uXXXX escape"),
    _("unexpected end of data"),
    _("line contains NUL"),
    _("'\"' expected after '\"'"),
    _("',' expected after '\"'"),
    _("'\t' expected after '\"'"),
    _("new-line character seen in unquoted field - do you need to open the file with newline=''?"),
)
