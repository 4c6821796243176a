"""A component of the installation: libraries of this repository as one archive with their headers, the
packages of CMake and pkg-config that link it, and other files."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")
load("//third_party:repositories.bzl", "DEVELOPMENT_PACKAGES", "NOTICES")
load("//tools:version.bzl", "DTNN_VERSION")

InstallInfo = provider("A component.", fields = {
    "objects": "depset of what its archive and those of its `needs` hold",
    "headers": "depset of their headers",
    "archives": "paths of the archives below the prefix, in link order",
})

# Ours, and neither precompiled nor a test's.
def _is_installed_header(file):
    return file.owner.workspace_name == "" and not file.short_path.startswith("tools/")

def _unique_from_the_end(items):
    seen, kept = {}, []
    for item in reversed(items):
        if item not in seen:
            seen[item] = True
            kept.insert(0, item)
    return kept

def _linked(ctx):
    """The objects of the libraries, what the linker is told besides, and Debian's packages of that."""
    objects, flags, packages = [], [], []
    for dep in ctx.attr.libraries:
        for linked in dep[CcInfo].linking_context.linker_inputs.to_list():
            for library in linked.libraries:
                objects += library.pic_objects or library.objects
            flags += linked.user_link_flags
            packages += DEVELOPMENT_PACKAGES.get(linked.owner.workspace_name, [])
    return objects, _unique_from_the_end(flags), sorted(_unique_from_the_end(packages))

def _archive(ctx, objects):
    archive = ctx.actions.declare_file(ctx.attr.archive)
    args = ctx.actions.args()
    args.add_all(objects)
    args.use_param_file("%s", use_always = True)
    args.set_param_file_format("multiline")

    # q: files of the same name in several folders are all kept.
    ctx.actions.run_shell(
        command = "rm -f %s && %s qcsD %s @$1" % (archive.path, find_cpp_toolchain(ctx).ar_executable, archive.path),
        arguments = [args],
        inputs = objects,
        outputs = [archive],
        mnemonic = "ComponentArchive",
        progress_message = "Archiving %s" % archive.short_path,
        use_default_shell_env = True,
    )
    return archive

def _printed(ctx, program):
    """What a program says of itself: pairs of a path below the prefix and a file."""
    pairs = []
    executable = program[DefaultInfo].files_to_run
    for topic, path in ctx.attr.printed.items():
        path = path % program.label.name
        if path in ctx.attr.not_printed:
            continue
        file = ctx.actions.declare_file("%s/%s" % (ctx.label.name, path))
        ctx.actions.run_shell(
            command = "%s --help=%s > %s" % (executable.executable.path, topic, file.path),
            tools = [executable],
            outputs = [file],
            mnemonic = "ComponentText",
        )
        pairs.append((path, file))
    return pairs

def _pages(ctx, installed):
    """The same pairs, with the pages among them as they are installed: links to other files are words."""
    files = ctx.actions.declare_file(ctx.label.name + ".pages")
    ctx.actions.write(files, "".join(["%s\t%s\n" % (file.short_path, path) for path, file in installed]))
    pairs = []
    for path, file in installed:
        if file.extension == "md":
            page = ctx.actions.declare_file("%s/%s" % (ctx.label.name, path))
            ctx.actions.run_shell(
                command = "/usr/bin/python3 %s %s %s < %s > %s" %
                          (ctx.file._installed_page.path, file.short_path, files.path, file.path, page.path),
                inputs = [file, files, ctx.file._installed_page],
                outputs = [page],
                mnemonic = "InstalledPage",
            )
            file = page
        pairs.append((path, file))
    return pairs

def _component_impl(ctx):
    name = ctx.attr.component
    needed = [need[InstallInfo] for need in ctx.attr.needs]
    below = {file: True for need in needed for file in need.objects.to_list() + need.headers.to_list()}
    installed = []  # pairs of a path below the prefix and a file

    objects, flags, packages = _linked(ctx)
    objects = [file for file in depset(objects).to_list() if file not in below]
    headers = [
        file
        for dep in ctx.attr.libraries
        for file in dep[CcInfo].compilation_context.headers.to_list()
        if _is_installed_header(file) and file not in below
    ]
    archives = [path for need in needed for path in need.archives]
    if ctx.attr.libraries:
        archives = ["lib/" + ctx.attr.archive] + archives
        installed.append((archives[0], _archive(ctx, objects)))
        for file in depset(headers).to_list():
            installed.append(("include/dtnn/" + file.short_path, file))
    for template, path in ctx.attr.templates.items():
        file = ctx.actions.declare_file("%s/%s" % (ctx.label.name, path))
        ctx.actions.expand_template(
            template = template.files.to_list()[0],
            output = file,
            substitutions = {
                "@COMPONENT@": name,
                "@VERSION@": DTNN_VERSION,
                "@ARCHIVE@": archives[0] if archives else "",
                "@LIBS@": " ".join(["${prefix}/" + path for path in archives] + flags),
                "@LINK_LIBRARIES@": ";".join(["${_dtnn_prefix}/" + path for path in archives[1:]] + flags),
                "@PACKAGES@": " ".join(packages),
            },
        )
        installed.append((path, file))
    for program in ctx.attr.programs:
        installed.append(("bin/" + program.label.name, program[DefaultInfo].files_to_run.executable))
        installed += _printed(ctx, program)
    installed += _pages(ctx, [
        (path + file.basename if path.endswith("/") else path, file)
        for target, path in ctx.attr.files.items()
        for file in target.files.to_list()
    ])
    lines = ["link\t%s\t%s" % link for link in ctx.attr.links.items()]
    for path, file in installed:
        mode = "755" if path.startswith("bin/") else "644"
        lines.append("%s\t%s\t%s" % (mode, path, file.short_path))
    for package in NOTICES:
        lines.append("644\tshare/doc/dtnn/licenses/%s\t/usr/share/doc/%s/copyright" % (package, package))
    manifest = ctx.actions.declare_file(ctx.label.name + ".manifest")
    ctx.actions.write(manifest, "".join([line + "\n" for line in lines]))
    development = ctx.actions.declare_file(ctx.label.name + ".packages")
    ctx.actions.write(development, " ".join(packages))
    return [
        DefaultInfo(
            files = depset([manifest]),
            runfiles = ctx.runfiles([file for _, file in installed] + [manifest, development]),
        ),
        InstallInfo(
            objects = depset(objects, transitive = [need.objects for need in needed]),
            headers = depset(headers, transitive = [need.headers for need in needed]),
            archives = archives,
        ),
    ]

component = rule(
    implementation = _component_impl,
    attrs = {
        "component": attr.string(mandatory = True),
        "libraries": attr.label_list(providers = [CcInfo], doc = "what programs of its users name; with all that these need"),
        "archive": attr.string(doc = "lib<x>.a: the objects of the libraries that no component of `needs` has"),
        "needs": attr.label_list(providers = [InstallInfo], doc = "components that are installed with it"),
        "programs": attr.label_list(doc = "executables, for bin/"),
        "files": attr.label_keyed_string_dict(allow_files = True, doc = "file -> path below the prefix, or folder/"),
        "links": attr.string_dict(doc = "path below the prefix -> what it points to"),
        "templates": attr.label_keyed_string_dict(allow_files = True, doc = "file with words in @ -> path below the prefix"),
        "printed": attr.string_dict(doc = "word, for which each program's --help=word is -> path below the prefix, with %s for the program's name"),
        "not_printed": attr.string_list(doc = "of these paths, those that are left out"),
        "_installed_page": attr.label(default = "//packaging:installed_page.py", allow_single_file = True),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
