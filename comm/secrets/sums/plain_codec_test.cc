#include "comm/secrets/sums/plain_codec.h"

#include <cmath>

#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::codec {
namespace {

TEST(PlainCodecTest, NumbersThatAreNoneAreRefused) {
  for (const WireType type : {WireType::kFloat32, WireType::kFloat16, WireType::kBfloat16}) {
    const auto client = Must(PlainClient(type, 4));
    const auto server = Must(PlainServer(type, 4));
    const auto sum = Must(server->NewSum({}, 1));
    for (const float bad : {NAN, INFINITY, -INFINITY}) {
      EXPECT_EQ(client->Encode({}, std::span(&bad, 1)).status().code(),
                absl::StatusCode::kInvalidArgument);
    }
    // From a client that does not care.
    const Bytes body(client->description().most_bytes / 4, 0xff);
    EXPECT_EQ(sum->Add(0, body).code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(sum->Add(0, std::span(body).first(1)).code(), absl::StatusCode::kDataLoss);
    float zero = 1;
    Must(client->Decode({}, Must(sum->Result()), std::span(&zero, 1)));
    EXPECT_EQ(zero, 0) << "what was refused was not added";
  }
  const float large = 70000;
  EXPECT_FALSE(Must(PlainClient(WireType::kFloat16, 4))->Encode({}, std::span(&large, 1)).ok());
  EXPECT_EQ(PlainClient(WireType::kFloat16, 0).status().message(),
            "codec fp16: chunk_values is 0; a chunk must have at least one number");
}

}  // namespace
}  // namespace dtnn::codec
