#include "apps/program/other_file.h"

#include <array>
#include <cstddef>
#include <filesystem>
#include <span>
#include <system_error>

#include "tensor/errors.h"
#include "tensor/files/bytes/known_contents.h"
#include "tensor/files/input_file.h"

namespace dtnn {
namespace {

struct Kind {
  std::string_view reader;  // the program that reads it
  std::string text;         // after the path; empty: not known
};

// What the files are that start with those bytes.
Kind KindOf(std::string_view contents, const std::string& path) {
  if (contents == "a JPEG image" || contents == "a PNG image") {
    return {"predict", StrCat("is ", contents, ", which predict classifies")};
  }
  if (path.ends_with(".onnx") && contents.empty()) {
    return {"import", "is an ONNX model, by its name; import makes a model of it"};
  }
  if ((path.ends_with(".pth") || path.ends_with(".pt")) && contents.starts_with("a zip archive")) {
    return {"import", "has weights of PyTorch, by its name; import makes a model of them"};
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

}  // namespace dtnn
