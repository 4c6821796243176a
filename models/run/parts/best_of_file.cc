#include "models/run/parts/best_of_file.h"

#include <utility>

#include "tensor/errors.h"
#include "tensor/files/atomic_file.h"

namespace dtnn {
namespace {

constexpr std::string_view kOption = "RunOptions::convolution.best_of_file";

}  // namespace

absl::StatusOr<Decisions> LoadDecisions(const RunOptions& options) {
  if (options.convolution.best_of_file.empty()) return Decisions();
  absl::StatusOr<Decisions> loaded = Decisions::Load(options.convolution.best_of_file);
  if (absl::IsNotFound(loaded.status())) return Decisions();
  return WithContext(std::move(loaded), kOption);
}

absl::Status CheckBestOfFile(const RunOptions& options) {
  if (options.convolution.best_of_file.empty()) return absl::OkStatus();
  DTNN_RETURN_IF_ERROR(LoadDecisions(options).status());
  return WithContext(AtomicFile::Create(options.convolution.best_of_file).status(), kOption);
}

absl::Status SaveDecisions(const RunOptions& options, const BestOf& best_of) {
  if (options.convolution.best_of_file.empty() || best_of.timed() == 0) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(Decisions decisions, LoadDecisions(options));
  for (const auto& [key, decision] : best_of.decisions().all()) decisions.Add(key, decision);
  return WithContext(decisions.Save(options.convolution.best_of_file), kOption);
}

}  // namespace dtnn
