// A model under a name, for many threads and as long as a server runs: its file can be loaded again
// while requests are answered.

#ifndef DTNN_MODELS_SERVING_SERVED_MODEL_H_
#define DTNN_MODELS_SERVING_SERVED_MODEL_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/serving/batcher.h"
#include "models/serving/predictor.h"

namespace dtnn {

struct ServedModelOptions {
  BatcherOptions batches = {};
  PredictorOptions predictor = {};  // `batch` is that of `batches`
};

class ServedModel {
 public:
  // The file's contents at one moment.
  struct Version {
    int64_t number;  // 1, and one more after each Reload
    std::shared_ptr<Predictor> predictor;
    std::unique_ptr<Batcher> batcher;
  };

  static absl::StatusOr<std::unique_ptr<ServedModel>> Load(std::string name, std::string path,
                                                           const ServedModelOptions& options);

  const std::string& name() const { return name_; }
  const std::string& path() const { return path_; }

  // A caller submits to it at once, and keeps it no longer than that: Reload waits for it.
  std::shared_ptr<Version> current() const;

  // The file as it is now becomes the current version; returns when the old one has answered what
  // it has taken, and callers have left it. On an error, which names the file, the old one stays.
  // One call at a time.
  absl::Status Reload();

 private:
  ServedModel(std::string name, std::string path, const ServedModelOptions& options)
      : name_(std::move(name)), path_(std::move(path)), options_(options) {}

  const std::string name_, path_;
  const ServedModelOptions options_;
  mutable std::mutex mutex_;
  std::shared_ptr<Version> current_;
  int64_t loads_ = 0;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_SERVING_SERVED_MODEL_H_
