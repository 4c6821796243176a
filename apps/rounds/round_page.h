// --report: the page of a federation, as that of any run, with a round for an epoch. Written after
// each round, as a whole or not at all; a page that cannot be written is one warning, and another
// one at the end where it still cannot.

#ifndef DTNN_APPS_ROUNDS_ROUND_PAGE_H_
#define DTNN_APPS_ROUNDS_ROUND_PAGE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "models/observe/report/run_report.h"

namespace dtnn {

class RoundPage {
 public:
  // An empty path: nothing is written. `better`: of the metrics that clients report.
  RoundPage(std::string path, ReportFacts facts, BetterOfMetrics better, int64_t rounds,
            std::function<void(std::string_view line)> warn);

  // Whether it can be written at all.
  absl::Status Check() const;
  // Where they are known only when the first one is done.
  void SetRounds(int64_t rounds) { report_.epochs_wanted = rounds; }
  // `history`: the text of --history-file (round_files.h), with all rounds.
  void Add(std::string_view history);
  // Once more, with how the run ended.
  void Finish(const absl::Status& status);

 private:
  absl::Status Write() const;
  void Warn(const absl::Status& status);

  const std::string path_;
  RunReport report_;
  const std::function<void(std::string_view line)> warn_;
  bool warned_ = false;
};

}  // namespace dtnn

#endif  // DTNN_APPS_ROUNDS_ROUND_PAGE_H_
