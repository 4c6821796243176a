"""Debian packages of the installation."""

load("//tools:version.bzl", "DTNN_DATE", "DTNN_SONAME_VERSION", "DTNN_VERSION")

_LIBRARY = "libdtnn" + DTNN_SONAME_VERSION

def _debian_packages_impl(ctx):
    packages = [
        ctx.actions.declare_file(name + ".deb")
        for name in ["dtnn", _LIBRARY, "libdtnn-dev", "python3-dtnn"]
    ]
    ctx.actions.run(
        executable = ctx.executable.packager,
        arguments = [DTNN_VERSION, DTNN_DATE, DTNN_SONAME_VERSION, packages[0].dirname],
        outputs = packages,
        mnemonic = "DebianPackages",
        use_default_shell_env = True,
    )
    return [DefaultInfo(files = depset(packages), runfiles = ctx.runfiles(packages))]

debian_packages = rule(
    implementation = _debian_packages_impl,
    attrs = {
        # As users run it, so that what it packages is compiled once.
        "packager": attr.label(executable = True, cfg = "target", mandatory = True),
    },
)
