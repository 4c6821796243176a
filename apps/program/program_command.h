// How the user of this process calls DTNN's programs, for texts that name one: such a line can be
// copied where it is read.

#ifndef DTNN_APPS_PROGRAM_PROGRAM_COMMAND_H_
#define DTNN_APPS_PROGRAM_PROGRAM_COMMAND_H_

#include <filesystem>
#include <string>
#include <string_view>

namespace dtnn {

// "bazel run //apps:predict --" in a program that Bazel has built and that is not installed,
// "dtnn predict" in one of the Debian package, else "predict".
std::string ProgramCommand(std::string_view program);

// The same but for programs that are not installed: "predict". For lines of usage, which are short,
// and for files that are installed.
std::string InstalledCommand(std::string_view program);

// Where the documents are: "docs/" of the sources, "/usr/share/doc/dtnn/docs/" of the Debian
// package, or the folder below the prefix of an installation.
std::string DocumentsFolder();
// `text`, in which "docs/" is that folder.
std::string NamingDocuments(std::string_view text);

// For tests: of a process whose program is in the file `executable`. The package has its list of
// programs beside their folder.
std::string ProgramCommand(std::string_view program, const std::filesystem::path& executable);
std::string DocumentsFolder(const std::filesystem::path& executable);

}  // namespace dtnn

#endif  // DTNN_APPS_PROGRAM_PROGRAM_COMMAND_H_
