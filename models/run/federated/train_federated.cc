#include "models/run/federated/train_federated.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "comm/federation/client/client.h"
#include "comm/federation/client/update_numbers.h"
#include "comm/ranks/job/interrupt.h"
#include "models/run/federated/own_parameters.h"
#include "models/run/federated/train_round.h"
#include "tensor/errors.h"
#include "tensor/text/counted.h"

namespace dtnn {
namespace {

using federation::FederationClient;
using federation::RoundTask;

class Training {
 public:
  explicit Training(const FederatedTraining& training)
      : t_(training),
        round_{.options = training.options,
               .store = training.store,
               .trainer = training.trainer,
               .optimizer = training.optimizer,
               .metrics = training.metrics,
               .callbacks = training.callbacks} {}

  absl::Status Run() {
    DTNN_RETURN_IF_ERROR(t_.trainer.PrepareForTraining(t_.loaders.training->max_batch()));
    DTNN_RETURN_IF_ERROR(Join());
    while (true) {
      DTNN_ASSIGN_OR_RETURN(const RoundTask task, client_->Next());
      DTNN_RETURN_IF_ERROR(Take(task));
      if (task.over) {
        t_.tell(absl::StrFormat(
            "**** The federation has ended after %d rounds; sent %d bytes, received %d\n",
            task.round, client_->bytes_sent(), client_->bytes_received()));
        return absl::OkStatus();
      }
      t_.tell(StrCat("**** Round ", task.round, " of ", task.rounds, "...\n"));
      DTNN_RETURN_IF_ERROR(TrainAndSubmit(task));
      if (t_.trainer.stopped()) return absl::OkStatus();
    }
  }

 private:
  absl::Status Join() {
    DTNN_ASSIGN_OR_RETURN(exchanged_, FindExchanged(t_.options, t_.graph, t_.store));
    DTNN_ASSIGN_OR_RETURN(const federation::ModelFacts model,
                          ModelFactsOf(t_.graph, t_.store, exchanged_));
    DTNN_RETURN_IF_ERROR(CheckProtection(t_.options, model));
    if (exchanged_.local_values() > 0) DTNN_RETURN_IF_ERROR(MakeOwn(model));
    DTNN_ASSIGN_OR_RETURN(
        client_,
        FederationClient::Create(
            {.place = t_.place.meeting.place,
             .name = t_.place.identity.name,
             .model = model,
             .samples = t_.loaders.training->samples(),
             .steps = StepsOfRound(t_.options, t_.loaders.training->steps()),
             .labels = t_.place.labels,
             .class_names = {t_.class_names.begin(), t_.class_names.end()},
             .protection = ProtectionOf(t_.options),
             .key = t_.place.key,
             .identity_key_file = t_.place.identity.key_file,
             .aggregator_key = t_.place.identity.aggregator,
             .plain_metrics = t_.options.federation.plain_metrics,
             .least_clients = t_.options.federation.least_clients,
             .seed = uint64_t(t_.options.training.seed),
             .timeout = std::chrono::milliseconds(int64_t(1000 * t_.options.ranks.timeout)),
             .completing =
                 [this](const federation::AttemptId& attempt) { return SetUsed(attempt, {}); },
             .verdict = [this](const federation::AttemptId& attempt,
                               bool used) { return SetUsed(attempt, used); },
             .say = [this](std::string_view line) { t_.tell(StrCat("**** This ", line, "\n")); },
             .warn = t_.warn,
             .interrupted = [] { return Interrupt::Last() != 0; }},
            t_.place.meeting.secret));
    return absl::OkStatus();
  }

  absl::Status SetUsed(const federation::AttemptId& attempt, std::optional<bool> used) {
    if (own_ != nullptr) DTNN_RETURN_IF_ERROR(own_->SetUsed(attempt, used));
    return owed_ == nullptr ? absl::OkStatus() : owed_->SetUsed(attempt, used);
  }

  absl::Status MakeOwn(const federation::ModelFacts& model) {
    DTNN_ASSIGN_OR_RETURN(
        OwnParameters own,
        OwnParameters::Create(t_.options, t_.place.identity.name, model, LocalOfStore()));
    own_ = std::make_unique<OwnParameters>(std::move(own));
    t_.tell(StrCat("**** ", Counted(int64_t(exchanged_.local_values()), "number"),
                   " of the network stay with this client, ",
                   own_->resumed_from().empty() ? "" : StrCat("from ", own_->resumed_from(), ", "),
                   "and ", model.values, " are exchanged\n"));
    return absl::OkStatus();
  }

  std::vector<float> LocalOfStore() const {
    std::vector<float> local(exchanged_.local_values());
    exchanged_.GetLocal(t_.store, local);
    return local;
  }

  // The first round says whether there are control variates.
  absl::Status MakeControl(const RoundTask& task) {
    if (own_ != nullptr || task.over) return absl::OkStatus();
    if (task.control.empty()) {
      if (owed_ == nullptr && !t_.options.checkpoint.folder.empty() &&
          !std::exchange(warned_, true)) {
        t_.warn("RunOptions::checkpoint.folder: has no effect: nothing stays with this client");
      }
      return absl::OkStatus();
    }
    DTNN_ASSIGN_OR_RETURN(const federation::ModelFacts model,
                          ModelFactsOf(t_.graph, t_.store, exchanged_));
    DTNN_ASSIGN_OR_RETURN(
        OwnParameters own,
        OwnParameters::Create(t_.options, t_.place.identity.name, model,
                              std::vector<float>(task.control.size()), OwnParameters::kControl));
    own_ = std::make_unique<OwnParameters>(std::move(own));
    if (t_.options.checkpoint.folder.empty()) {
      t_.warn(
          "without RunOptions::checkpoint.folder the control variate of this client (scaffold) is "
          "in memory only: where it is started again, it begins at 0, and the aggregator's is "
          "wrong "
          "for all");
    } else if (task.round > 1 && !own_->resumed_from().empty()) {
      t_.tell(StrCat("**** Continues with the control variate of ", own_->resumed_from(), "\n"));
    }
    return absl::OkStatus();
  }

  // A round says whether clients keep what they do not send.
  absl::Status MakeOwed(const RoundTask& task) {
    if (owed_ != nullptr || !task.compression.owes()) return absl::OkStatus();
    DTNN_ASSIGN_OR_RETURN(const federation::ModelFacts model,
                          ModelFactsOf(t_.graph, t_.store, exchanged_));
    DTNN_ASSIGN_OR_RETURN(
        OwnParameters owed,
        OwnParameters::Create(t_.options, t_.place.identity.name, model,
                              std::vector<float>(exchanged_.trainable()), OwnParameters::kOwed));
    owed_ = std::make_unique<OwnParameters>(std::move(owed));
    if (task.round > 1 && !owed_->resumed_from().empty()) {
      t_.tell(StrCat("**** Continues with what ", owed_->resumed_from(),
                     " has of updates that were not sent\n"));
    }
    return absl::OkStatus();
  }

  absl::Status Take(const RoundTask& task) {
    exchanged_.Set(task.parameters, t_.store);
    DTNN_RETURN_IF_ERROR(MakeOwed(task));
    if (owed_ != nullptr) {
      DTNN_ASSIGN_OR_RETURN(owes_, owed_->Begin(task));
    }
    DTNN_RETURN_IF_ERROR(MakeControl(task));
    if (own_ == nullptr) return absl::OkStatus();
    DTNN_ASSIGN_OR_RETURN(const std::span<const float> own, own_->Begin(task));
    if (exchanged_.local_values() > 0) {
      exchanged_.SetLocal(own, t_.store);
    } else {
      control_.assign(own.begin(), own.end());
    }
    return absl::OkStatus();
  }

  // What stays with the client after a round.
  std::vector<float> OwnAfter(const TrainedRound& round) const {
    if (exchanged_.local_values() > 0) return LocalOfStore();
    std::vector<float> control = control_;
    std::ranges::transform(control, round.change, control.begin(), std::plus<float>());
    return control;
  }

  // The numbers of an update. What is owed after it is kept.
  absl::StatusOr<std::span<const float>> Sent(const RoundTask& task, const TrainedRound& round) {
    const std::span<const float> parameters = exchanged_.View(t_.store, sent_);
    if (round.change.empty() && !task.compression.owes()) return parameters;
    if (parameters.data() != sent_.data()) sent_.assign(parameters.begin(), parameters.end());
    sent_.insert(sent_.end(), round.change.begin(), round.change.end());
    if (task.compression.owes()) {
      DTNN_RETURN_IF_ERROR(
          owed_->Keep(task, federation::AddOwed(task.compression, task.parameters, owes_, sent_)));
    }
    return sent_;
  }

  absl::Status TrainAndSubmit(const RoundTask& task) {
    DTNN_ASSIGN_OR_RETURN(const TrainedRound round, TrainRound(round_, task, t_.loaders, control_));
    if (!round.diverged.empty()) {
      t_.warn(StrCat("round ", task.round, ": ", round.diverged));
      return client_->Decline(kDiverged);
    }
    if (t_.trainer.stopped()) return absl::OkStatus();
    if (own_ != nullptr) DTNN_RETURN_IF_ERROR(own_->Keep(task, OwnAfter(round)));
    DTNN_ASSIGN_OR_RETURN(const std::span<const float> sent, Sent(task, round));
    DTNN_RETURN_IF_ERROR(client_->Submit(sent, round.report));
    if (t_.options.federation.dp_clip > 0) {
      t_.tell(absl::StrFormat("**** Round %d: epsilon at most %.3g for delta %g\n", task.round,
                              client_->Epsilon(), t_.options.federation.dp_delta));
    }
    return absl::OkStatus();
  }

  const FederatedTraining& t_;
  const RoundTraining round_;
  ExchangedParameters exchanged_;
  std::vector<float> sent_;  // where it is not the store
  // Where some parameters stay, or there are control variates.
  std::unique_ptr<OwnParameters> own_;
  std::unique_ptr<OwnParameters> owed_;  // where updates are sent in part
  std::span<const float> owes_;          // of it, before a round
  std::vector<float> control_;           // of this client; empty: the strategy has none
  bool warned_ = false;
  std::unique_ptr<FederationClient> client_;
};

}  // namespace

absl::Status TrainFederated(const FederatedTraining& training) { return Training(training).Run(); }

}  // namespace dtnn
