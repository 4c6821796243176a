#include "models/serving/served_model.h"

#include <chrono>
#include <thread>
#include <utility>

#include "tensor/errors.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<ServedModel>> ServedModel::Load(std::string name, std::string path,
                                                               const ServedModelOptions& options) {
  std::unique_ptr<ServedModel> model(new ServedModel(std::move(name), std::move(path), options));
  DTNN_RETURN_IF_ERROR(model->Reload());
  return model;
}

std::shared_ptr<ServedModel::Version> ServedModel::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

absl::Status ServedModel::Reload() {
  PredictorOptions options = options_.predictor;
  options.batch = options_.batches.max_batch;
  DTNN_ASSIGN_OR_RETURN(std::shared_ptr<Predictor> predictor, Predictor::Load(path_, options));
  auto version = std::make_shared<Version>();
  version->number = ++loads_;
  version->predictor = predictor;
  version->batcher = std::make_unique<Batcher>(std::move(predictor), options_.batches);
  {
    const std::lock_guard lock(mutex_);
    current_.swap(version);
  }
  // Callers keep the old one for a moment. Its end waits for its queue: here, not in one of them.
  while (version != nullptr && version.use_count() > 1) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return absl::OkStatus();
}

}  // namespace dtnn
