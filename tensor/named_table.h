// Tables of what is chosen by name: arrays of entries with a member `name`.

#ifndef DTNN_TENSOR_NAMED_TABLE_H_
#define DTNN_TENSOR_NAMED_TABLE_H_

#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tensor/errors.h"
#include "tensor/text/nearest.h"

namespace dtnn {

// In the order of the table.
template <typename Table>
std::vector<std::string_view> NamesIn(const Table& table) {
  std::vector<std::string_view> names;
  for (const auto& entry : table) names.push_back(entry.name);
  return names;
}

// NotFound, listing the names: `unknown loss "mze"; must be one of: mse, mae; did you mean "mse"?`.
template <typename Table>
auto FindNamed(const Table& table, std::string_view kind, std::string_view name)
    -> absl::StatusOr<decltype(&*std::begin(table))> {
  for (const auto& entry : table) {
    if (entry.name == name) return &entry;
  }
  const std::vector<std::string_view> names = NamesIn(table);
  std::string known;
  for (const std::string_view other : names) StrAppend(&known, known.empty() ? "" : ", ", other);
  return NotFound("unknown ", kind, " ", Quoted(name), "; must be one of: ", known,
                  DidYouMean(name, names));
}

}  // namespace dtnn

#endif  // DTNN_TENSOR_NAMED_TABLE_H_
