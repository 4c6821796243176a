#include "data/datasets/class_list.h"

#include <cstddef>
#include <filesystem>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "data/files/folder_listing.h"
#include "tensor/errors.h"
#include "tensor/files/atomic_file.h"
#include "tensor/text/class_name.h"

namespace dtnn {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 24;

}  // namespace

absl::StatusOr<std::vector<std::string>> ReadClassFile(const std::string& path) {
  DTNN_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, ReadFile(path, kMostBytes));
  return ParseClassFile({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

absl::StatusOr<std::vector<std::string>> ParseClassFile(std::string_view bytes,
                                                        std::string_view path) {
  const absl::string_view text =
      absl::StripTrailingAsciiWhitespace(absl::string_view(bytes.data(), bytes.size()));
  std::vector<std::string> names;
  std::set<std::string> distinct;
  // A text without an address would have no lines, and a file without names is an error.
  for (const absl::string_view line : absl::StrSplit(text.empty() ? "" : text, '\n')) {
    std::string name(absl::StripAsciiWhitespace(line));
    const size_t number = names.size() + 1;
    if (!IsClassName(name)) {
      return InvalidArgument(path, ": line ", number, ": expected the name of class ", names.size(),
                             ", UTF-8 text of 1 to ", kMostClassNameBytes,
                             " bytes without control characters, not ", Quoted(name, 80));
    }
    if (!distinct.insert(name).second) {
      return InvalidArgument(path, ": line ", number, ": ", name, " appears twice");
    }
    names.push_back(std::move(name));
  }
  return names;
}

absl::StatusOr<std::vector<std::string>> ReadClassList(std::string_view folder, int64_t classes) {
  const std::string path = (std::filesystem::path(folder) / "classes.txt").string();
  DTNN_ASSIGN_OR_RETURN(const PathKind kind, LookAt(path));
  if (kind == PathKind::kNothing) return std::vector<std::string>();
  DTNN_ASSIGN_OR_RETURN(std::vector<std::string> names, ReadClassFile(path));
  if (int64_t(names.size()) != classes) {
    return InvalidArgument(path, ": has ", int64_t(names.size()) > classes ? "more" : "fewer",
                           " names than there are classes; expected ", classes, ", one per line");
  }
  return names;
}

}  // namespace dtnn
