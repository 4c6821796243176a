"""A repository over libraries that the operating system's packages installed."""

def _run(ctx, command):
    result = ctx.execute(command)
    return result.stdout.strip() if result.return_code == 0 else None

def _missing(ctx, what):
    fail("\n\n%s is not installed (%s). Install it with\n\n    sudo apt-get install %s\n\nor install everything with ./setup.sh\n" %
         (ctx.name, what, ctx.attr.package))

def _link_flags(ctx, target, source):
    if not source:
        return []
    if source.startswith("-"):
        arch = _run(ctx, ["gcc", "-print-multiarch"]) or "x86_64-linux-gnu"
        return source.replace("{lib}", "/usr/lib/" + arch).split(" ")
    flags = _run(ctx, ["pkg-config", "--libs", source])
    if flags == None:
        _missing(ctx, "pkg-config finds no " + source)
    return flags.split(" ")

def _system_library_repository_impl(ctx):
    if not ctx.which("pkg-config"):
        fail("\n\npkg-config is not installed. Install it with\n\n    sudo apt-get install pkg-config\n")
    probe = ctx.execute(["sh", "-c", "echo '#include <%s>' | gcc -std=c++20 -xc++ -M - >/dev/null" % ctx.attr.header])
    if probe.return_code != 0:
        _missing(ctx, "no header <%s>" % ctx.attr.header)
    folders = {"": []}
    for label, source in ctx.attr.targets.items():
        folder, name = label.split(":")
        rule = """cc_library(
    name = "%s",
    linkopts = %s,
    visibility = ["//visibility:public"],
)
""" % (name, repr(_link_flags(ctx, label, source)))
        folders.setdefault(folder, []).append(rule)
    for program in ctx.attr.programs:
        path = ctx.which(program)
        if path == None:
            _missing(ctx, "no program " + program)
        ctx.symlink(path, "bin/" + program)
        folders[""].append("""filegroup(
    name = "%s",
    srcs = ["bin/%s"],
    visibility = ["//visibility:public"],
)
""" % (program, program))
    for folder, rules in folders.items():
        ctx.file((folder + "/" if folder else "") + "BUILD.bazel", "\n".join(rules))

# Headers are found by the compiler in its system folders, hence outside -Werror's reach.
system_library_repository = repository_rule(
    implementation = _system_library_repository_impl,
    attrs = {
        "package": attr.string(mandatory = True, doc = "Debian package(s), as apt-get install takes them"),
        "header": attr.string(mandatory = True, doc = "a header whose presence proves the installation"),
        "targets": attr.string_dict(mandatory = True, doc = "label -> pkg-config module, or link flags, or nothing"),
        "programs": attr.string_list(doc = "programs of the package that actions run, each a target of its name"),
    },
    local = True,
    environ = ["PKG_CONFIG_PATH"],
)
