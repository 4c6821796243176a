// Messages whose image is seen under other axes, on the way to attention.

#ifndef DTNN_MODELS_ONNX_TESTING_ATTENTION_FIXTURE_H_
#define DTNN_MODELS_ONNX_TESTING_ATTENTION_FIXTURE_H_

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "models/onnx/testing/import_fixture.h"

namespace dtnn {

// The convolution makes 4 channels of 4 x 5 pixels.
class ImportAttentionTest : public ImportTest {
 protected:
  ImportAttentionTest() {
    onnx_.mutable_graph()->mutable_node()->DeleteSubrange(1, 3);
    Integers("tokens", {-1, 4, 20});
    Integers("image", {-1, 4, 4, 5});
    Integers("heads", {-1, 2, 2, 20});
  }
  void Turn(const std::string& from, const std::string& to, const std::vector<int64_t>& order) {
    Ints(Node("Transpose", {from}, to), "perm", order);
  }
  // Scores of the image with itself, as "s".
  void AddScores() {
    Node("Reshape", {"c", "tokens"}, "keys");
    Turn("keys", "queries", {0, 2, 1});
    Node("MatMul", {"queries", "keys"}, "s");
  }
  void End(const std::string& from) {
    Node("GlobalAveragePool", {from}, "p");
    Node("Flatten", {"p"}, "f");
    Node("Gemm", {"f", "m"}, "y");
  }
  // After the convolution.
  std::vector<std::string> AllLayers() {
    const auto imported = Import();
    EXPECT_EQ(imported.status(), absl::OkStatus());
    std::vector<std::string> layers;
    if (!imported.ok()) return layers;
    for (const auto& node : imported->model.graph.nodes()) {
      layers.push_back(std::string(node.layer->type_name()) + " " + node.layer->SettingsCell());
    }
    return {layers.begin() + 2, layers.end()};
  }
  // Those before what End adds.
  std::vector<std::string> Layers() {
    std::vector<std::string> layers = AllLayers();
    if (layers.size() >= 3) layers.resize(layers.size() - 3);
    return layers;
  }
};

}  // namespace dtnn

#endif  // DTNN_MODELS_ONNX_TESTING_ATTENTION_FIXTURE_H_
