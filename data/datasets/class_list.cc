#include "data/datasets/class_list.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "data/files/folder_listing.h"
#include "tensor/errors.h"
#include "tensor/files/atomic_file.h"

namespace dtnn {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 20;
constexpr size_t kLongestName = 200;

}  // namespace

absl::StatusOr<std::vector<std::string>> ReadClassList(std::string_view folder, int64_t classes) {
  const std::string path = (std::filesystem::path(folder) / "classes.txt").string();
  std::vector<std::string> names;
  DTNN_ASSIGN_OR_RETURN(const PathKind kind, LookAt(path));
  if (kind == PathKind::kNothing) return names;
  DTNN_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, ReadFile(path, kMostBytes));
  absl::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  text = absl::StripTrailingAsciiWhitespace(text);
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    std::string name(absl::StripAsciiWhitespace(line));
    const size_t number = names.size() + 1;
    const bool control = std::ranges::any_of(
        name, [](char c) { return absl::ascii_iscntrl(static_cast<unsigned char>(c)); });
    if (name.empty() || control || name.size() > kLongestName) {
      return InvalidArgument(path, ": line ", number,
                             " is empty, long or has control characters; expected the name of "
                             "class ",
                             names.size());
    }
    if (std::ranges::find(names, name) != names.end()) {
      return InvalidArgument(path, ": line ", number, ": ", name, " is there twice");
    }
    names.push_back(std::move(name));
    if (int64_t(names.size()) > classes) break;
  }
  if (int64_t(names.size()) != classes) {
    return InvalidArgument(path, ": has ", int64_t(names.size()) > classes ? "more" : "fewer",
                           " names than there are classes; expected ", classes, ", one per line");
  }
  return names;
}

}  // namespace dtnn
