"""Bazel 4's default toolchains load three repositories that it would download.

These are small local stand-ins: `rules_cc` and `rules_java` forward the rules built into Bazel, and
`remote_coverage_tools` offers the one target that every test asks for.
"""

def _forward(rules):
    return "\n".join(["%s = native.%s" % (rule, rule) for rule in rules]) + "\n"

OFFLINE_RULES = {
    "rules_cc": {
        "cc/BUILD.bazel": "",
        "cc/defs.bzl": _forward([
            "cc_binary",
            "cc_import",
            "cc_library",
            "cc_test",
            "cc_toolchain",
            "cc_toolchain_suite",
        ]),
    },
    "rules_java": {
        "java/BUILD.bazel": "",
        "java/defs.bzl": _forward([
            "java_binary",
            "java_import",
            "java_library",
            "java_runtime",
            "java_toolchain",
        ]),
    },
    "remote_coverage_tools": {
        "BUILD.bazel": """
sh_binary(
    name = "coverage_report_generator",
    srcs = ["unavailable.sh"],
    visibility = ["//visibility:public"],
)
""",
        "unavailable.sh": "#!/bin/sh\necho 'coverage reports are not set up here' >&2\nexit 1\n",
    },
}

def _offline_rules_repository_impl(ctx):
    for path, content in ctx.attr.contents.items():
        ctx.file(path, content, executable = path.endswith(".sh"))
    if "BUILD.bazel" not in ctx.attr.contents:
        ctx.file("BUILD.bazel", "")

offline_rules_repository = repository_rule(
    implementation = _offline_rules_repository_impl,
    attrs = {"contents": attr.string_dict(mandatory = True)},
)
