// Errors about a file of another kind than a program reads: what the file is, as far as its first
// bytes and its name tell, and which program reads such files.

#ifndef DTNN_APPS_PROGRAM_OTHER_FILE_H_
#define DTNN_APPS_PROGRAM_OTHER_FILE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace dtnn {

// `error`: why `program` could not read `path`. For a file of another kind, "PATH: is a JPEG image,
// which predict classifies; expected `expected`" instead; for one that cannot be opened, why.
// Otherwise, also for kinds that `program` reads itself, the same error.
absl::Status NameOtherFile(const absl::Status& error, const std::string& path,
                           std::string_view program, std::string_view expected);

// What a file is of which `import` makes a model: "is an ONNX model, by its name", "has weights of
// PyTorch, by the names of its parameters"; empty for others, and for files that cannot be opened
// whose name does not say it.
std::string ImportableKind(const std::string& path);

// `path`: a file of weights for the network `model`, which may be empty. InvalidArgument where the
// file's name (.onnx, .pth, .pt), or PyTorch's names of its parameters, say that it is one of those
// of which `import` makes a model, with the command that does; an error of the system where such a
// file cannot be opened.
absl::Status CheckNotImportable(const std::string& path, std::string_view model);

}  // namespace dtnn

#endif  // DTNN_APPS_PROGRAM_OTHER_FILE_H_
