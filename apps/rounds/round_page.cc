#include "apps/rounds/round_page.h"

#include <span>
#include <utility>

#include "models/observe/report/charts/page.h"
#include "models/observe/report/read_history.h"
#include "tensor/errors.h"
#include "tensor/files/atomic_file.h"
#include "tensor/files/output_file.h"

namespace dtnn {

RoundPage::RoundPage(std::string path, ReportFacts facts, BetterOfMetrics better, int64_t rounds,
                     std::function<void(std::string_view line)> warn)
    : path_(std::move(path)),
      report_{.facts = std::move(facts), .epochs_wanted = rounds, .better = std::move(better)},
      warn_(std::move(warn)) {}

absl::Status RoundPage::Check() const {
  if (path_.empty()) return absl::OkStatus();
  return WithContext(CheckOutputFile(path_, "a report", IsPage), "--report");
}

void RoundPage::Add(std::string_view history) {
  if (path_.empty()) return;
  absl::StatusOr<RunHistory> rounds =
      ParseHistory(history, HistoryForm::kCsv, "the history of the rounds");
  if (!rounds.ok()) return Warn(rounds.status());
  report_.epochs = std::move(rounds->epochs);
  Warn(Write());
}

void RoundPage::Finish(const absl::Status& status) {
  if (path_.empty()) return;
  report_.state = status.ok() ? ReportState::kDone : ReportState::kFailed;
  report_.end = std::string(status.message());
  const absl::Status written = Write();
  if (!written.ok()) {
    warn_(StrCat(path_, ": is incomplete: ", written.message()));
  }
}

absl::Status RoundPage::Write() const {
  const std::string page = FormatRunReport(report_);
  return WriteFileAtomically(path_, std::as_bytes(std::span(std::string_view(page))));
}

void RoundPage::Warn(const absl::Status& status) {
  if (status.ok() || std::exchange(warned_, true)) return;
  warn_(StrCat("the report is not written: ", status.message(), "; the rounds continue"));
}

}  // namespace dtnn
