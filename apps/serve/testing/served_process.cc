#include "apps/serve/testing/served_process.h"

#include <csignal>
#include <cstdlib>

#include "gtest/gtest.h"
#include "kernels/device/context.h"
#include "models/graph/builder.h"
#include "models/parameters/parameter_store.h"
#include "models/serving/saved_model.h"
#include "tensor/must.h"
#include "tensor/text/str_cat.h"

namespace dtnn::testing {
namespace {

std::vector<std::string> Arguments(const std::vector<std::string>& models,
                                   std::vector<std::string> flags) {
  for (const std::string& model : models) flags.push_back("--model-file=" + model);
  flags.push_back("--port=0");
  return flags;
}

}  // namespace

Graph ServedNet(int64_t classes, TensorFormat format) {
  GraphBuilder b("net", format);
  b.Input({6, 5, 3}).Conv2d(8, {.padding = 1}).Relu().Flatten();
  return *b.Fc(classes).Softmax().Build();
}

void SaveServed(const std::string& path, const Graph& graph, uint64_t seed) {
  const auto device = Must(DeviceContext::Create(Device::Cpu()));
  const auto store = Must(ParameterStore::Create(graph, *device, DType::kFloat32, seed));
  SavedModel model = {.graph = graph};
  for (int64_t i = 0; i < graph.output_shape().NumElements(); ++i) {
    model.description.class_names.push_back(StrCat("c", i));
  }
  Must(SaveModel(path, model, *store, *device));
}

ServedProcess::ServedProcess(const std::vector<std::string>& models,
                             const std::vector<std::string>& flags)
    : process_("apps/serve/serve", Arguments(models, flags)) {
  constexpr std::string_view kListens = "Listens at http";
  // The line is written at once.
  if (!process_.ReadUntil(kListens)) {
    ADD_FAILURE() << "serve does not listen: " << process_.text();
    return;
  }
  port_ = uint16_t(std::atoi(process_.text().c_str() + process_.text().rfind(':') + 1));
}

void ServedProcess::Reload(std::string_view said) {
  process_.Signal(SIGHUP);
  EXPECT_TRUE(process_.ReadUntil(said)) << process_.text();
}

Outcome ServedProcess::Stop() {
  process_.Signal(SIGTERM);
  return process_.Wait();
}

}  // namespace dtnn::testing
