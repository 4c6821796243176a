#include "models/run/federated/train_federated.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "comm/federation/client/client.h"
#include "comm/ranks/job/interrupt.h"
#include "models/checkpoint/training_state.h"
#include "tensor/errors.h"
#include "tensor/stopwatch.h"

namespace dtnn {
namespace {

using federation::FederationClient;
using federation::Report;
using federation::RoundTask;

class Training {
 public:
  explicit Training(const FederatedTraining& training) : t_(training) {}

  absl::Status Run() {
    DTNN_RETURN_IF_ERROR(t_.trainer.PrepareForTraining(t_.loaders.training->max_batch()));
    DTNN_RETURN_IF_ERROR(Join());
    while (true) {
      DTNN_ASSIGN_OR_RETURN(const RoundTask task, client_->Next());
      Take(task.parameters);
      if (task.over) {
        t_.tell(absl::StrFormat(
            "**** The federation has ended after %d rounds; sent %d bytes, received %d\n",
            task.round, client_->bytes_sent(), client_->bytes_received()));
        return absl::OkStatus();
      }
      t_.tell(StrCat("**** Round ", task.round, " of ", task.rounds, "...\n"));
      DTNN_RETURN_IF_ERROR(TrainRound(task));
      if (t_.trainer.stopped()) return absl::OkStatus();
    }
  }

 private:
  absl::Status Join() {
    DTNN_ASSIGN_OR_RETURN(const federation::ModelFacts model, ModelFactsOf(t_.graph, t_.store));
    DTNN_RETURN_IF_ERROR(CheckProtection(t_.options, model));
    DTNN_ASSIGN_OR_RETURN(
        client_,
        FederationClient::Create(
            {.place = t_.place.meeting.place,
             .name = t_.place.name,
             .model = model,
             .samples = t_.loaders.training->samples(),
             .class_names = {t_.class_names.begin(), t_.class_names.end()},
             .protection = ProtectionOf(t_.options),
             .key = t_.place.key,
             .plain_metrics = t_.options.federation.plain_metrics,
             .least_clients = t_.options.federation.least_clients,
             .timeout = std::chrono::milliseconds(int64_t(1000 * t_.options.ranks.timeout)),
             .say = [this](std::string_view line) { t_.tell(StrCat("**** This ", line, "\n")); },
             .warn = t_.warn,
             .interrupted = [] { return Interrupt::Last() != 0; }},
            t_.place.meeting.secret));
    return absl::OkStatus();
  }

  std::span<float> Exchanged() const {
    const Tensor unfrozen = t_.store.unfrozen();
    return {unfrozen.data<float>(), size_t(unfrozen.num_elements())};
  }

  void Take(std::span<const float> parameters) {
    std::ranges::copy(parameters, Exchanged().begin());
    t_.store.MarkChanged();
  }

  // As at the begin of a run, but for the place in the order of the data.
  absl::Status Rewind(const RoundTask& task) {
    const std::vector<Tensor>& slots = t_.store.slots();
    for (const Tensor& slot : slots) {
      std::fill_n(slot.data<float>(), size_t(slot.num_elements()), 0.0f);
    }
    const Tensor anchor = slots.back();
    std::copy_n(t_.store.values().data<float>(), size_t(anchor.num_elements()),
                anchor.data<float>());
    t_.optimizer.set_mu(task.proximal);
    TrainingState state;
    state.epoch = (task.round - 1) * t_.options.training.epochs;
    for (Callback* callback : t_.callbacks) {
      DTNN_RETURN_IF_ERROR(callback->OnRoundBegin(task.round, task.rounds, state.epoch));
    }
    state.learning_rate = InitialLearningRate(t_.options, 1);
    state.random_seed = uint64_t(t_.options.training.seed);
    return t_.trainer.Restore(state);
  }

  absl::Status TrainRound(const RoundTask& task) {
    DTNN_RETURN_IF_ERROR(Rewind(task));
    const Stopwatch watch;
    const absl::Status trained = t_.trainer.Train(*t_.loaders.training, t_.loaders.validation.get(),
                                                  t_.options.training.epochs, t_.callbacks);
    if (t_.trainer.diverged()) {
      t_.warn(StrCat("round ", task.round, ": ", trained.message()));
      return client_->Decline("its training has diverged");
    }
    DTNN_RETURN_IF_ERROR(trained);
    if (t_.trainer.stopped()) return absl::OkStatus();
    Report report = {.samples = t_.loaders.training->samples(), .seconds = watch.seconds()};
    std::set<std::string> names;  // of training.metrics that names one twice
    for (const auto& [name, value] : t_.metrics.values()) {
      if (std::isfinite(value) && names.insert(name).second) {
        report.metrics.emplace_back(name, value);
      }
    }
    DTNN_RETURN_IF_ERROR(client_->Submit(Exchanged(), report));
    if (t_.options.federation.dp_clip > 0) {
      t_.tell(absl::StrFormat("**** Round %d: epsilon at most %.3g for delta %g\n", task.round,
                              client_->Epsilon(), t_.options.federation.dp_delta));
    }
    return absl::OkStatus();
  }

  const FederatedTraining& t_;
  std::unique_ptr<FederationClient> client_;
};

}  // namespace

absl::Status TrainFederated(const FederatedTraining& training) { return Training(training).Run(); }

}  // namespace dtnn
