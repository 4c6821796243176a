// The files of numbers about the rounds, complete after every round: --history-file, a line per
// round, which `report` reads as that of a run, and --clients-file, a line per round and client
// that was asked.

#ifndef DTNN_APPS_ROUNDS_ROUND_FILES_H_
#define DTNN_APPS_ROUNDS_ROUND_FILES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/federation/aggregator/round_record.h"

namespace dtnn {

// One CSV file whose lines begin with the number of their round.
class RoundFile {
 public:
  // An empty path: nothing is written. Of an existing file the lines of the first `rounds_done`
  // rounds are kept. InvalidArgument for a path that does not end in .csv; FailedPrecondition for a
  // file that is not one of these, whose first column is `first` and that has `columns`, separated
  // by commas.
  static absl::StatusOr<RoundFile> Open(const std::string& path, std::string_view first,
                                        std::string_view columns, int64_t rounds_done);

  // Empty before the first line is written.
  const std::vector<std::string>& columns() const { return columns_; }
  // Where there are none yet.
  void SetColumns(std::vector<std::string> columns);
  // Adds lines, one value per column each, and writes the file.
  absl::Status Add(const std::vector<std::vector<std::string>>& lines);
  bool written() const { return !path_.empty(); }
  // All that is in it, also where it is not written.
  const std::string& text() const { return text_; }

 private:
  std::string path_, text_;
  std::vector<std::string> columns_;
};

class RoundFiles {
 public:
  static absl::StatusOr<RoundFiles> Open(const std::string& history, const std::string& clients,
                                         int64_t rounds_done);
  absl::Status Add(const federation::RoundRecord& record);
  // The text of --history-file.
  const std::string& history() const { return history_.text(); }

 private:
  absl::Status AddToHistory(const federation::RoundRecord& record);
  absl::Status AddToClients(const federation::RoundRecord& record);

  RoundFiles(RoundFile history, RoundFile clients)
      : history_(std::move(history)), clients_(std::move(clients)) {}

  RoundFile history_, clients_;
};

}  // namespace dtnn

#endif  // DTNN_APPS_ROUNDS_ROUND_FILES_H_
