// The parameters that stay with a client of a federation (exchanged_parameters.h), from round to
// round.
//
// What it has made of them in a round counts once its update is in the sum of that round. Where it
// cannot know that, since its connection was lost or it was killed, it counts unless the round is
// tried again. With checkpoint.folder they are in local-parameters.npz there, too, before an update
// is sent: a client that was killed, and resumes, gives the same bits.

#ifndef DTNN_MODELS_RUN_FEDERATED_OWN_PARAMETERS_H_
#define DTNN_MODELS_RUN_FEDERATED_OWN_PARAMETERS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/federation/client/round_task.h"
#include "comm/federation/messages.h"
#include "models/run/federated/local_parameters.h"
#include "models/run/options/run_options.h"

namespace dtnn {

class OwnParameters {
 public:
  // `initial`, or what the file has where the run resumes. `model`: of what is exchanged. Errors
  // name the file: FailedPrecondition for one of another network or with other parameters, and
  // for one that is there although the run does not resume; NotFound where there is none although
  // it must; DataLoss for a damaged one.
  static absl::StatusOr<OwnParameters> Create(const RunOptions& options,
                                              const federation::ModelFacts& model,
                                              std::vector<float> initial);

  // The file that they are from; empty: they are the initial ones.
  const std::string& resumed_from() const { return resumed_from_; }

  // Those to train with in `task`, or the last ones. `accepted`: FederationClient::accepted. Writes
  // the file where an update is not used.
  absl::StatusOr<std::span<const float>> Begin(const federation::RoundTask& task,
                                               std::optional<bool> accepted);
  // What the training of a round has made of them; writes the file.
  absl::Status Keep(int64_t round, std::vector<float> trained);

 private:
  OwnParameters(std::string path, std::string model, std::string patterns,
                std::vector<float> initial)
      : path_(std::move(path)),
        model_(std::move(model)),
        patterns_(std::move(patterns)),
        parameters_(1, std::move(initial)) {}

  absl::Status Load(Resume resume);
  absl::Status Write() const;

  std::string path_;  // empty: in memory only
  std::string model_, patterns_, resumed_from_;
  LocalParameters parameters_;  // of one client
  int64_t round_ = 0;           // of what it has trained, and not yet accepted; 0: none
};

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_FEDERATED_OWN_PARAMETERS_H_
