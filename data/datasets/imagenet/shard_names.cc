#include "data/datasets/imagenet/shard_names.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>

#include "absl/strings/str_format.h"
#include "tensor/errors.h"
#include "tensor/text/counted.h"
#include "tensor/text/number.h"

namespace dtnn {
namespace {

// "train-00017-of-01024.npz"
struct ShardName {
  std::string prefix;  // "train-"
  int64_t number = 0, count = 0;
  int digits = 0;
};

std::optional<ShardName> Parse(std::string_view name) {
  constexpr std::string_view kOf = "-of-", kEnding = ".npz";
  const size_t of = name.rfind(kOf);
  if (of == name.npos || !name.ends_with(kEnding)) return std::nullopt;
  const size_t dash = name.rfind('-', of - 1);
  const size_t begin = of == 0 || dash == name.npos ? 0 : dash + 1;
  const std::string_view digits = name.substr(begin, of - begin);
  const std::string_view all =
      name.substr(of + kOf.size(), name.size() - of - kOf.size() - kEnding.size());
  const std::optional<int64_t> number = NumberIn<int64_t>(digits), count = NumberIn<int64_t>(all);
  if (!number || !count || *number < 0 || *number >= *count) return std::nullopt;
  return ShardName{std::string(name.substr(0, begin)), *number, *count, int(digits.size())};
}

absl::Status TwoSets(const std::string& one, const std::string& other) {
  return InvalidArgument(other, ": is not of the same set as ", one,
                         ", so that some images would be read twice; delete the files of one, or "
                         "put them into a folder of their own");
}

}  // namespace

absl::Status CheckShardNames(const std::vector<std::string>& files) {
  std::map<int64_t, std::string> found;
  std::optional<ShardName> first;
  bool numbered = false;
  for (const std::string& file : files) {
    const std::string name = std::filesystem::path(file).filename().string();
    const std::optional<ShardName> shard = Parse(name);
    if (&file == &files.front()) {
      numbered = shard.has_value();
      first = shard;
    }
    if (shard.has_value() != numbered) return TwoSets(files.front(), file);
    if (!shard) continue;
    if (shard->prefix != first->prefix || shard->count != first->count) {
      return TwoSets(files.front(), file);
    }
    const auto [other, added] = found.emplace(shard->number, file);
    if (!added) return TwoSets(other->second, file);
  }
  if (!first || int64_t(found.size()) == first->count) return absl::OkStatus();
  int64_t missing = 0;
  while (found.contains(missing)) ++missing;
  const int64_t others = first->count - int64_t(found.size()) - 1;
  const std::filesystem::path folder = std::filesystem::path(files.front()).parent_path();
  return InvalidArgument(
      (folder / absl::StrFormat("%s%0*d-of-%0*d.npz", first->prefix, first->digits, missing,
                                first->digits, first->count))
          .string(),
      ": is missing", others > 0 ? StrCat(", and so are ", Counted(others, "other")) : "", " of ",
      first->count,
      " files; is the copy complete? To use a part of them, rename them without \"-of-\"");
}

}  // namespace dtnn
