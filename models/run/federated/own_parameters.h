// The parameters that stay with a client of a federation (exchanged_parameters.h), from round to
// round; or its control variate (RoundTask::control), or what it has not sent of its updates
// (RoundTask::compression), for which all of this holds too.
//
// What it has made of them in a round counts once its update is in the sum of that round. Where the
// update was sent and it cannot know more, since its connection was lost or it was killed, it
// counts unless the round is tried again, or others have made the parameters that come next. With
// checkpoint.folder they are in a file there, too, before an update is sent: a client that was
// killed, and resumes, gives the same bits.
//
// Parameters are the client's, and a new federation begins with them. A control variate, and what
// is not sent, are of one federation: in its round 1 they are 0. A client that does not resume, or
// finds no file, has sent all.

#ifndef DTNN_MODELS_RUN_FEDERATED_OWN_PARAMETERS_H_
#define DTNN_MODELS_RUN_FEDERATED_OWN_PARAMETERS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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
  struct Kind {
    std::string_view file;   // its name in checkpoint.folder
    bool of_one_federation;  // 0 in round 1
    // The aggregator may ask for it in any round: a client that has no file, or does not resume,
    // begins with `initial`.
    bool in_any_round;
  };
  static constexpr Kind kLocal = {"local-parameters.npz", false, false},
                        kControl = {"control-variate.npz", true, false},
                        kOwed = {"unsent-updates.npz", true, true};

  // `initial`, or what the file has where the run resumes. `client`: its name; `model`: of what is
  // exchanged. Errors name the file: FailedPrecondition for one of another client, of another
  // network or with other parameters; DataLoss for a damaged one. Unless it is asked for in any
  // round, also FailedPrecondition for one that is there although the run does not resume, and
  // NotFound where there is none although it must.
  static absl::StatusOr<OwnParameters> Create(const RunOptions& options, std::string client,
                                              const federation::ModelFacts& model,
                                              std::vector<float> initial,
                                              const Kind& kind = kLocal);

  // The file that they are from; empty: they are the initial ones.
  const std::string& resumed_from() const { return resumed_from_; }

  // Those to train with in `task`, or the last ones. Writes the file where what it has made of them
  // does not count.
  absl::StatusOr<std::span<const float>> Begin(const federation::RoundTask& task);
  // What the training of a round has made of them, all finite; writes the file. The update is not
  // sent yet: it is not used.
  absl::Status Keep(const federation::RoundTask& task, std::vector<float> trained);
  // The update of the attempt is used, or not: ClientOptions::verdict. Nothing: it may be, from now
  // on: ClientOptions::completing. Writes the file.
  absl::Status SetUsed(const federation::AttemptId& attempt, std::optional<bool> used);

 private:
  // What it has trained, and not yet counted.
  struct Trained {
    int64_t round = 0;  // 0: nothing
    federation::AttemptId attempt = {};
    std::optional<bool> used = {};  // nothing: it does not know
  };

  OwnParameters(const Kind& kind, std::string path, std::string client, std::string model,
                std::string patterns, std::vector<float> initial)
      : kind_(kind),
        path_(std::move(path)),
        client_(std::move(client)),
        model_(std::move(model)),
        patterns_(std::move(patterns)),
        parameters_(1, std::move(initial)) {}

  absl::Status Load(Resume resume);
  absl::Status BeginFederation();
  absl::Status Write() const;
  bool Counts(const federation::RoundTask& task) const;

  Kind kind_;
  std::string path_;  // empty: in memory only
  std::string client_, model_, patterns_, resumed_from_;
  LocalParameters parameters_;  // of one client
  Trained trained_;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_FEDERATED_OWN_PARAMETERS_H_
