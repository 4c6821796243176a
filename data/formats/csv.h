// Tables as text: fields separated by commas, rows by line ends (RFC 4180). A field may stand in
// double quotes and then hold commas, line ends and doubled quotes; a byte order mark and carriage
// returns are passed over, and so are empty lines.

#ifndef DTNN_DATA_FORMATS_CSV_H_
#define DTNN_DATA_FORMATS_CSV_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dtnn {

class CsvReader {
 public:
  // `text` must outlive the reader; `name` begins every message.
  CsvReader(std::string_view text, std::string_view name);

  // The next row into `fields`; false at the end. InvalidArgument with the line's number for a
  // quote that does not end, or for text after one that does.
  absl::StatusOr<bool> Next(std::vector<std::string>& fields);
  // "<name>, line 7": where the row that Next gave last begins.
  std::string Place() const;

 private:
  absl::Status ReadField(std::string& field);
  bool AtLineEnd() const;

  std::string_view rest_;
  const std::string name_;
  int64_t line_ = 1;  // of rest_
  int64_t row_line_ = 0;
};

// The place of the field called `column` in a header; InvalidArgument lists those that there are.
absl::StatusOr<size_t> FindColumn(std::span<const std::string> header, std::string_view column,
                                  std::string_view name);

}  // namespace dtnn

#endif  // DTNN_DATA_FORMATS_CSV_H_
