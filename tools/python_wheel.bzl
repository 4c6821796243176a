"""A wheel of the package for the system's Python."""

load("//third_party:repositories.bzl", "NOTICES")
load("//tools:version.bzl", "DTNN_VERSION")

def _python_wheel_impl(ctx):
    # Its name, in this folder, says which Python it is for.
    folder = ctx.actions.declare_directory(ctx.label.name)
    ctx.actions.run(
        executable = "/usr/bin/python3",
        arguments = [ctx.file.maker.path, DTNN_VERSION, ctx.file.license.path, ",".join(NOTICES), folder.path] +
                    [file.path for file in ctx.files.package],
        inputs = [ctx.file.maker, ctx.file.license] + ctx.files.package,
        outputs = [folder],
        mnemonic = "PythonWheel",
        use_default_shell_env = True,
    )
    return [DefaultInfo(files = depset([folder]), runfiles = ctx.runfiles([folder]))]

python_wheel = rule(
    implementation = _python_wheel_impl,
    attrs = {
        "package": attr.label(mandatory = True),
        "license": attr.label(mandatory = True, allow_single_file = True),
        "maker": attr.label(mandatory = True, allow_single_file = [".py"]),
    },
)
