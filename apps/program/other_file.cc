#include "apps/program/other_file.h"

#include <array>
#include <cstddef>
#include <filesystem>
#include <span>
#include <system_error>

#include "apps/program/program_command.h"
#include "models/parameters/weights.h"
#include "tensor/errors.h"
#include "tensor/files/array_file.h"
#include "tensor/files/bytes/known_contents.h"
#include "tensor/files/input_file.h"
#include "tensor/text/shell_word.h"

namespace dtnn {
namespace {

struct Kind {
  std::string_view reader;  // the program that reads it
  std::string text;         // after the path; empty: not known
};

bool HoldsTorchNames(const std::string& path) {
  if (!CheckArrayFileName(path).ok()) return false;
  const absl::StatusOr<ArrayFileReader> file = ArrayFileReader::Open(path);
  return file.ok() && HasTorchNames(*file);
}

// ImportableKind, and the command that makes a model of it; empty for others.
std::string Importable(const std::string& path, std::string_view model) {
  const std::string kind = ImportableKind(path), import = StrCat(ProgramCommand("import"), " ");
  if (kind.empty()) return "";
  if (path.ends_with(".onnx")) {
    return StrCat(kind, " (a model is made of it by: ", import, ShellWord(path),
                  " OUT.safetensors)");
  }
  const bool read = !path.ends_with(".npz");
  return StrCat(kind, " (a model is made of them", read ? "" : ", saved as .safetensors,",
                " by: ", import, read ? ShellWord(path) : "WEIGHTS.safetensors",
                " --model=", model.empty() ? "NAME" : ShellWord(model),
                " --final-activation=softmax OUT.safetensors)");
}

// What the files are that start with those bytes.
Kind KindOf(std::string_view contents, const std::string& path) {
  if (contents == "a JPEG image" || contents == "a PNG image") {
    return {"predict", StrCat("is ", contents, ", which predict classifies")};
  }
  if (contents.empty() || contents.starts_with("a zip archive") ||
      contents.starts_with("a .safetensors file")) {
    if (const std::string what = Importable(path, ""); !what.empty()) return {"import", what};
  }
  for (const auto& [ending, word] :
       {std::pair(".npz", "a zip archive"), std::pair(".safetensors", "a .safetensors file")}) {
    if (!contents.starts_with(word)) continue;
    if (path.ends_with(ending)) return {};  // something else is wrong with it
    return {"inspect", StrCat("is ", contents, "; inspect and report read it under a name that ",
                              "ends in ", ending)};
  }
  if (!contents.empty()) return {"", StrCat("is ", contents)};
  if (path.ends_with(".csv") || path.ends_with(".jsonl")) {
    return {"report", "is a history, by its name, which report reads"};
  }
  return {};
}

}  // namespace

std::string ImportableKind(const std::string& path) {
  if (path.ends_with(".onnx")) return "is an ONNX model, by its name";
  if (path.ends_with(".pth") || path.ends_with(".pt")) return "has weights of PyTorch, by its name";
  return HoldsTorchNames(path) ? "has weights of PyTorch, by the names of its parameters" : "";
}

absl::Status NameOtherFile(const absl::Status& error, const std::string& path,
                           std::string_view program, std::string_view expected) {
  Kind kind;
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    kind = {"report", "is a folder; report reads those with checkpoints or a history"};
  } else {
    DTNN_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
    std::array<std::byte, kKnownContentsBytes> start = {};
    DTNN_ASSIGN_OR_RETURN(const size_t count, file.ReadUpTo(0, start));
    kind = count == 0 ? Kind{"", "is empty"}
                      : KindOf(KnownContents(std::span(start).first(count)), path);
  }
  if (kind.text.empty() || kind.reader == program) return error;
  return InvalidArgument(path, ": ", kind.text, "; expected ", expected);
}

absl::Status CheckNotImportable(const std::string& path, std::string_view model) {
  std::error_code ignored;
  if (!path.empty() && std::filesystem::is_directory(path, ignored)) {
    return InvalidArgument(path,
                           ": is a folder; expected a file of weights or of a model (.npz, "
                           ".safetensors); a folder of checkpoints is for --checkpoint-dir with "
                           "--resume");
  }
  const std::string what = Importable(path, model);
  if (what.empty()) return absl::OkStatus();
  DTNN_RETURN_IF_ERROR(InputFile::Open(path).status());
  return InvalidArgument(path, ": ", what);
}

}  // namespace dtnn
