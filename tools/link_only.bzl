"""Code to link that the compiler hears nothing of."""

def _link_only_impl(ctx):
    options = cc_common.create_linking_context(linker_inputs = depset([
        cc_common.create_linker_input(owner = ctx.label, user_link_flags = depset(ctx.attr.linkopts)),
    ]))
    infos = [CcInfo(linking_context = options)] + [
        CcInfo(linking_context = dep[CcInfo].linking_context)
        for dep in ctx.attr.deps
    ]
    return [cc_common.merge_cc_infos(cc_infos = infos)]

# Bazel compiles a library again when it depends on another package, even if no header is new: so what
# only some configurations link stands behind this rule.
link_only = rule(
    implementation = _link_only_impl,
    attrs = {
        "deps": attr.label_list(providers = [CcInfo]),
        "linkopts": attr.string_list(),
    },
)
