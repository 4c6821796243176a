#include "models/onnx/import/network_maker.h"

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "layers/fc.h"
#include "layers/flatten.h"
#include "layers/input.h"

namespace dtnn {
namespace {

// What a layer of two outputs of six numbers says to parameters of so many elements: an operator
// may have forgotten to look.
std::string Error(const std::vector<size_t>& elements) {
  NetworkMaker maker;
  const ImportedValue image =
      *maker.Add(std::make_shared<InputLayer>(ImageExtents{1, 2, 3}), {}, {}, "image");
  const ImportedValue input =
      *maker.Add(std::make_shared<FlattenLayer>(), std::span(&image, 1), {}, "input");
  NetworkMaker::Parameters parameters;
  for (const size_t count : elements) parameters.emplace_back(count, 0.5F);
  const absl::Status status = maker
                                  .Add(std::make_shared<FcLayer>(2, FcOptions{}),
                                       std::span(&input, 1), std::move(parameters), "fc")
                                  .status();
  EXPECT_EQ(maker.size(), status.ok() ? 3 : 2) << "what is refused is not there";
  return std::string(status.message());
}

TEST(NetworkMakerTest, ParametersHaveTheElementsOfTheLayer) {
  EXPECT_EQ(Error({12, 2}), "");
  EXPECT_EQ(Error({12}), "has 1 parameters; a layer of type FC has 2");
  EXPECT_EQ(Error({12, 2, 2}), "has 3 parameters; a layer of type FC has 2");
  for (const size_t wrong : {11, 13}) {
    EXPECT_EQ(Error({wrong, 2}), "has " + std::to_string(wrong) +
                                     " elements in its weights; inputs of shape (6,) need (6, 2)");
  }
  for (const size_t wrong : {1, 3}) {
    EXPECT_EQ(Error({12, wrong}), "has " + std::to_string(wrong) +
                                      " elements in its biases; inputs of shape (6,) need (2,)");
  }
}

}  // namespace
}  // namespace dtnn
