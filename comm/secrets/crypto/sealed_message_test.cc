#include "comm/secrets/crypto/sealed_message.h"

#include <algorithm>

#include "comm/secrets/crypto/hash.h"
#include "comm/secrets/crypto/random_secret.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

using Bytes = std::vector<uint8_t>;

TEST(SealedMessageTest, OpensWhatWasSealed) {
  const Secret key = Must(RandomSecret());
  for (const size_t size : {0, 1, 15, 16, 17, 64, 1000}) {
    const Bytes message(size, 7);
    const Bytes sealed = Must(Seal(key, AsBytes("round 1"), message));
    EXPECT_EQ(sealed.size(), size + kSealBytes);
    const WipedVector<uint8_t> opened = Must(Open(key, AsBytes("round 1"), sealed));
    EXPECT_TRUE(std::ranges::equal(opened, message));
    // Twice the same is not the same.
    EXPECT_NE(sealed, Must(Seal(key, AsBytes("round 1"), message)));
  }
}

TEST(SealedMessageTest, HidesTheMessage) {
  const Bytes zeros(1000);
  const Bytes sealed = Must(Seal(Must(RandomSecret()), {}, zeros));
  EXPECT_LT(std::ranges::count(sealed, 0), 40);
}

TEST(SealedMessageTest, AnyChangedBitIsFound) {
  const Secret key = Must(RandomSecret()), other = Must(RandomSecret());
  const Bytes message = {1, 2, 3};
  const Bytes sealed = Must(Seal(key, AsBytes("a"), message));
  for (size_t bit = 0; bit < 8 * sealed.size(); ++bit) {
    Bytes bad = sealed;
    bad[bit / 8] ^= uint8_t(1 << bit % 8);
    const absl::Status status = Open(key, AsBytes("a"), bad).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated) << bit;
  }
  for (size_t size = 0; size < sealed.size(); ++size) {
    EXPECT_FALSE(Open(key, AsBytes("a"), std::span(sealed).first(size)).ok()) << size;
  }
  EXPECT_FALSE(Open(key, AsBytes("b"), sealed).ok());
  EXPECT_FALSE(Open(key, {}, sealed).ok());
  EXPECT_FALSE(Open(other, AsBytes("a"), sealed).ok());
}

TEST(SealedMessageTest, TagsAreOfHeaderAndBody) {
  const Secret key = Must(RandomSecret()), other = Must(RandomSecret());
  for (const size_t size : {0, 1, 16, 1000}) {
    const Bytes header = {1, 2}, body(size, 3);
    const Bytes tag = Must(MakeTag(key, header, body));
    EXPECT_EQ(tag.size(), kSealBytes);
    EXPECT_EQ(absl::OkStatus(), CheckTag(key, header, body, tag));
    EXPECT_FALSE(CheckTag(other, header, body, tag).ok());
    EXPECT_NE(Must(MakeTag(key, header, body)), tag) << "no two tags have one salt";
    Bytes bad_header = header, bad_body = body, bad_tag = tag, longer = body;
    bad_header[1] ^= 1;
    longer.push_back(0);
    bad_tag.back() ^= 1;
    EXPECT_FALSE(CheckTag(key, bad_header, body, tag).ok());
    EXPECT_FALSE(CheckTag(key, header, longer, tag).ok());
    EXPECT_FALSE(CheckTag(key, header, body, bad_tag).ok());
    EXPECT_FALSE(CheckTag(key, header, body, std::span(tag).first(31)).ok());
    if (size == 0) continue;
    bad_body[size / 2] ^= 128;
    EXPECT_FALSE(CheckTag(key, header, bad_body, tag).ok());
  }
}

}  // namespace
}  // namespace dtnn
