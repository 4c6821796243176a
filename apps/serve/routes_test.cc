#include "apps/serve/routes.h"

#include <string>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

// A request whose body begins with that JSON, followed by so many bytes.
HttpRequest Infer(std::string json, size_t bytes) {
  HttpRequest request;
  request.path = "/v2/models/m/infer";
  request.headers = {{"Inference-Header-Content-Length", std::to_string(json.size())}};
  request.body = std::move(json) + std::string(bytes, '\0');
  return request;
}

TEST(RoutesTest, SamplesThatAreTakenAsTheyAreAreBrief) {
  const std::string json = R"({"inputs": [{"name": "input", "datatype": "FP32"}]})";
  EXPECT_TRUE(Routes::Brief(Infer(json, 100'000)));
  EXPECT_FALSE(Routes::Brief(Infer(json, 2'000'000)));
  EXPECT_FALSE(Routes::Brief(Infer(json + std::string(5000, ' '), 0))) << "long JSON";
  HttpRequest lies = Infer(json, 10);
  lies.headers = {{"Inference-Header-Content-Length", "9999"}};
  EXPECT_FALSE(Routes::Brief(lies));
}

TEST(RoutesTest, ImagesAreNotBrief) {
  EXPECT_FALSE(Routes::Brief(Infer(R"({"inputs": [{"datatype": "UINT8"}]})", 10)));
  EXPECT_FALSE(Routes::Brief(Infer(R"({"inputs": [{"datatype": "\u0055INT8"}]})", 10)));
  for (const char* const path : {"/classify", "/classify/", "/"}) {
    HttpRequest image;
    image.path = path;
    image.body = "an image";
    EXPECT_FALSE(Routes::Brief(image)) << path;
  }
}

}  // namespace
}  // namespace dtnn
