"""Headers that the compiler reads once for many files."""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "CPP_COMPILE_ACTION_NAME")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _precompiled_header_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    header = ctx.actions.declare_file(ctx.label.name + ".h")
    if "clang" in toolchain.compiler_executable:
        # It compares the times of files, which differ in every sandbox.
        ctx.actions.write(header, "")
        return [CcInfo(compilation_context = cc_common.create_compilation_context(
            headers = depset([header]),
        ))]
    ctx.actions.expand_template(template = ctx.file.src, output = header, substitutions = {})
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    contexts = [dep[CcInfo].compilation_context for dep in ctx.attr.deps]
    # GCC takes it for files whose flags and macros are the same, and reads the header for others.
    precompiled = ctx.actions.declare_file(header.basename + ".gch")
    flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts + ctx.attr.copts
    ctx.actions.run(
        executable = toolchain.compiler_executable,
        arguments = cc_common.get_memory_inefficient_command_line(
            feature_configuration = features,
            action_name = CPP_COMPILE_ACTION_NAME,
            variables = cc_common.create_compile_variables(
                feature_configuration = features,
                cc_toolchain = toolchain,
                source_file = header.path,
                output_file = precompiled.path,
                use_pic = True,
                user_compile_flags = flags + ["-x", "c++-header"],
                include_directories = depset(transitive = [c.includes for c in contexts]),
                quote_include_directories = depset(transitive = [c.quote_includes for c in contexts]),
                system_include_directories = depset(transitive = [c.system_includes for c in contexts]),
                preprocessor_defines = depset(transitive = [c.defines for c in contexts]),
            ),
        ),
        env = cc_common.get_environment_variables(
            feature_configuration = features,
            action_name = CPP_COMPILE_ACTION_NAME,
            variables = cc_common.empty_variables(),
        ),
        inputs = depset([header], transitive = [c.headers for c in contexts] + [toolchain.all_files]),
        outputs = [precompiled],
        mnemonic = "CppPrecompile",
        progress_message = "Precompiling %s" % header.short_path,
    )
    return [CcInfo(compilation_context = cc_common.create_compilation_context(
        headers = depset([header, precompiled]),
    ))]

precompiled_header = rule(
    implementation = _precompiled_header_impl,
    attrs = {
        "src": attr.label(allow_single_file = [".h"]),
        "copts": attr.string_list(),
        "deps": attr.label_list(providers = [CcInfo]),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
