#include "apps/kept_models.h"

#include <ctime>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "models/weights.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

std::string Today() {
  const std::time_t now = std::time(nullptr);
  std::tm date = {};
  localtime_r(&now, &date);
  return absl::StrFormat("%04d%02d%02d", date.tm_year + 1900, date.tm_mon + 1, date.tm_mday);
}

}  // namespace

absl::Status MakeModelFolder(const std::string& folder) {
  if (folder.empty()) return absl::OkStatus();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error) return absl::OkStatus();
  return absl::ErrnoToStatus(error.value(),
                             absl::StrCat("--model-dir=", folder, ": the folder cannot be made"));
}

absl::StatusOr<std::string> KeepModel(const std::string& folder, int64_t epoch, const Graph& graph,
                                      const ParameterStore& store, DeviceContext& context,
                                      const Tensor& values, const std::string& previous,
                                      bool writes) {
  const std::string stem = absl::StrCat("model-", graph.name(), "-epoch-");
  const std::string name = absl::StrCat(stem, epoch, "-", Today(), ".npz");
  const std::string path = std::filesystem::path(folder) / name;
  if (!writes) return path;
  DTNN_RETURN_IF_ERROR(SaveWeights(path, graph, store, context, values));
  const std::string old = std::filesystem::path(previous).filename().string();
  if (old.starts_with(stem) && old.ends_with(".npz") && old != name) {
    std::error_code ignored;
    std::filesystem::remove(std::filesystem::path(folder) / old, ignored);
  }
  return path;
}

}  // namespace dtnn
