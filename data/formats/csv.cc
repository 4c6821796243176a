#include "data/formats/csv.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "tensor/errors.h"

namespace dtnn {

CsvReader::CsvReader(std::string_view text, std::string_view name) : rest_(text), name_(name) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
}

std::string CsvReader::Place() const { return StrCat(name_, ", line ", row_line_); }

bool CsvReader::AtLineEnd() const {
  return rest_.empty() || rest_.starts_with('\n') || rest_.starts_with("\r\n");
}

absl::Status CsvReader::ReadField(std::string& field) {
  field.clear();
  if (!rest_.starts_with('"')) {
    const size_t size = std::min(rest_.find_first_of(",\n"), rest_.size());
    field = rest_.substr(0, size);
    rest_.remove_prefix(size);
    if (field.ends_with('\r') && !rest_.starts_with(',')) field.pop_back();
    return absl::OkStatus();
  }
  rest_.remove_prefix(1);
  for (;;) {
    const size_t size = rest_.find('"');
    if (size == std::string_view::npos) {
      return InvalidArgument(Place(), ": a quoted field does not end");
    }
    field += rest_.substr(0, size);
    line_ += std::count(rest_.begin(), rest_.begin() + long(size), '\n');
    rest_.remove_prefix(size + 1);
    if (!rest_.starts_with('"')) break;
    field += '"';
    rest_.remove_prefix(1);
  }
  if (AtLineEnd() || rest_.starts_with(',')) return absl::OkStatus();
  return InvalidArgument(Place(),
                         ": a quoted field is followed by something other than a separator");
}

absl::StatusOr<bool> CsvReader::Next(std::vector<std::string>& fields) {
  while (!rest_.empty() && AtLineEnd()) {
    rest_.remove_prefix(rest_.find('\n') + 1);
    ++line_;
  }
  if (rest_.empty()) return false;
  row_line_ = line_;
  for (size_t count = 1;; ++count) {
    if (fields.size() < count) fields.emplace_back();
    DTNN_RETURN_IF_ERROR(ReadField(fields[count - 1]));
    if (rest_.starts_with(',')) {
      rest_.remove_prefix(1);
      continue;
    }
    fields.resize(count);
    return true;  // the next call takes the end of the line
  }
}

absl::StatusOr<size_t> FindColumn(std::span<const std::string> header, std::string_view column,
                                  std::string_view name) {
  const auto at = std::find(header.begin(), header.end(), column);
  if (at != header.end()) return size_t(at - header.begin());
  return InvalidArgument(name, ": has no column \"", column, "\"; its columns are ",
                         absl::StrJoin(header, ", "));
}

}  // namespace dtnn
