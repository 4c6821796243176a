// The files of numbers about the rounds, complete after every round: --history-file, a line per
// round, which `report` reads as that of a run, and --clients-file, a line per round and client
// that was asked.
//
// A file that cannot be written later (a full disk) is one warning, as the history of a run is
// (models/callbacks/history.h): the file of an earlier round stays, and the next round tries again.

#ifndef DTNN_APPS_ROUNDS_ROUND_FILES_H_
#define DTNN_APPS_ROUNDS_ROUND_FILES_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/federation/aggregator/round_record.h"

namespace dtnn {

using WarnOfFile = std::function<void(std::string_view line)>;

// One CSV file whose lines begin with the number of their round.
class RoundFile {
 public:
  // For `rounds_done`: keeps all lines until a round comes, which may be an earlier one.
  static constexpr int64_t kKeepAll = INT64_MAX;

  // An empty path: nothing is written. `what`: as warnings call it. Of an existing file the lines
  // of the first `rounds_done` rounds are kept. InvalidArgument for a path that does not end in
  // .csv; FailedPrecondition for a file that is not one of these, whose first column is `first` and
  // that has `columns`, separated by commas.
  static absl::StatusOr<RoundFile> Open(std::string_view what, const std::string& path,
                                        std::string_view first, std::string_view columns,
                                        int64_t rounds_done, WarnOfFile warn);

  // Empty before the first line is written.
  const std::vector<std::string>& columns() const { return columns_; }
  // Where there are none yet.
  void SetColumns(std::vector<std::string> columns);
  // Adds the lines of a round, one value per column each, in place of those from that round on, and
  // writes the file.
  void Add(int64_t round, const std::vector<std::vector<std::string>>& lines);
  // After the last round: tries once more where rounds are missing, and warns where they stay so.
  void Finish();
  bool written() const { return !path_.empty(); }
  // All that is in it, also where it is not written.
  const std::string& text() const { return text_; }

 private:
  absl::Status Write();
  void DropFrom(int64_t round);

  std::string what_, path_, text_;
  std::vector<std::string> columns_;
  WarnOfFile warn_;
  bool warned_ = false;
  int64_t last_ = 0, last_written_ = 0;  // rounds of the text and of the file
};

class RoundFiles {
 public:
  // Paths as those of RoundFile.
  static absl::StatusOr<RoundFiles> Open(const std::string& history, const std::string& clients,
                                         int64_t rounds_done, const WarnOfFile& warn);
  void Add(const federation::RoundRecord& record);
  void Finish();
  // The text of --history-file.
  const std::string& history() const { return history_.text(); }

 private:
  void AddToHistory(const federation::RoundRecord& record);
  void AddToClients(const federation::RoundRecord& record);

  RoundFiles(RoundFile history, RoundFile clients)
      : history_(std::move(history)), clients_(std::move(clients)) {}

  RoundFile history_, clients_;
};

}  // namespace dtnn

#endif  // DTNN_APPS_ROUNDS_ROUND_FILES_H_
