// Time and error of encrypted sums, on OMP_NUM_THREADS threads, as one line of JSON:
//
//   encrypted_sum VALUES CLIENTS secret|public slots|coefficients [LOG2_SCALE]
//
// VALUES numbers are encrypted, added to another ciphertext and decrypted, in batches of
// ciphertexts that are forgotten again; seconds of each, of all values together. Then the error of
// a sum of CLIENTS clients in one ciphertext, and the bytes of a fresh ciphertext.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "comm/secrets/ckks/cipher.h"
#include "comm/secrets/ckks/noise.h"
#include "comm/secrets/crypto/random_secret.h"
#include "tensor/must.h"
#include "tensor/stopwatch.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::ckks {
namespace {

constexpr int64_t kBatch = 64;  // ciphertexts

struct Keys {
  explicit Keys(const CkksContext& context)
      : secret(Must(SecretKey::FromSeed(context, Must(RandomSecret())))),
        open(Must(MakePublicKey(context, secret))) {}
  SecretKey secret;
  PublicKey open;
};

struct Seconds {
  double encrypt = 0, add = 0, decrypt = 0;
};

std::vector<float> RandomValues(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(count);
  for (float& x : values) x = uniform(random);
  return values;
}

// Encrypt(i), then add(i), then decrypt(i) of a batch, each on all threads.
Seconds Measure(const CkksContext& context, const Keys& keys, bool with_public, int64_t values) {
  const int64_t each = int64_t(context.parameters().values());
  const std::vector<float> numbers = RandomValues(size_t(each), 1);
  const std::span<const float> view(numbers);
  const Ciphertext other = Must(Encrypt(context, keys.open, view, 4));
  Seconds seconds;
  for (int64_t done = 0; done < values; done += kBatch * each) {
    const int64_t count = std::min(kBatch, (values - done + each - 1) / each);
    std::vector<SeededCiphertext> seeded{size_t(count)};
    std::vector<Ciphertext> full{size_t(count)}, sums(size_t(count), other);
    std::vector<std::vector<float>> results(size_t(count), numbers);
    const auto on_all = [&](double& time, auto body) {
      const AddTime timer(time);
      ParallelFor(0, count, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) body(size_t(i));
      });
    };
    on_all(seconds.encrypt, [&](size_t i) {
      if (with_public) {
        full[i] = Must(Encrypt(context, keys.open, view, 4));
      } else {
        seeded[i] = Must(Encrypt(context, keys.secret, view, 4));
      }
    });
    on_all(seconds.add, [&](size_t i) {
      Must(with_public ? Add(context, sums[i], full[i]) : Add(context, sums[i], seeded[i]));
    });
    on_all(seconds.decrypt,
           [&](size_t i) { Must(Decrypt(context, keys.secret, sums[i], std::span(results[i]))); });
  }
  return seconds;
}

// Standard deviation of the error of a number.
double ErrorOfSum(const CkksContext& context, const Keys& keys, bool with_public, int clients) {
  const size_t count = context.parameters().values();
  std::vector<double> wanted(count);
  Ciphertext sum;
  for (int client = 0; client < clients; ++client) {
    const std::vector<float> values = RandomValues(count, uint64_t(client));
    const std::span<const float> view(values);
    const Ciphertext x = with_public
                             ? Must(Encrypt(context, keys.open, view, 4))
                             : Must(Expand(context, Must(Encrypt(context, keys.secret, view, 4))));
    if (client == 0) {
      sum = x;
    } else {
      Must(Add(context, sum, x));
    }
    for (size_t i = 0; i < count; ++i) wanted[i] += double(values[i]);
  }
  std::vector<double> decrypted(count);
  Must(Decrypt(context, keys.secret, sum, std::span(decrypted)));
  double squares = 0;
  for (size_t i = 0; i < count; ++i) squares += std::pow(decrypted[i] - wanted[i], 2);
  return std::sqrt(squares / double(count));
}

int Run(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: %s VALUES CLIENTS secret|public slots|coefficients [LOG2_SCALE]\n",
                 argv[0]);
    return 2;
  }
  const bool with_public = std::string(argv[3]) == "public";
  const CkksParameters parameters{
      .log2_scale = argc > 5 ? std::atoi(argv[5]) : 40,
      .packing = std::string(argv[4]) == "slots" ? Packing::kSlots : Packing::kCoefficients};
  const auto context = Must(CkksContext::Create(parameters));
  const Keys keys(*context);
  const int clients = std::atoi(argv[2]);
  const Seconds seconds = Measure(*context, keys, with_public, std::atoll(argv[1]));
  const double error = ErrorOfSum(*context, keys, with_public, clients);
  const double predicted = ValueDeviation(
      parameters,
      CoefficientDeviation(parameters,
                           with_public ? EncryptedWith::kPublicKey : EncryptedWith::kSecretKey,
                           clients));
  const std::vector<float> one = {1};
  const std::span<const float> view(one);
  const size_t bytes =
      with_public ? ToBytes(*context, Must(Encrypt(*context, keys.open, view, 4))).size()
                  : ToBytes(*context, Must(Encrypt(*context, keys.secret, view, 4))).size();
  std::printf(
      "{\"encrypt\": %.4f, \"add\": %.4f, \"decrypt\": %.4f, \"error\": %.4g, \"predicted\": %.4g, "
      "\"bytes\": %zu, \"values\": %zu}\n",
      seconds.encrypt, seconds.add, seconds.decrypt, error, predicted, bytes, parameters.values());
  return 0;
}

}  // namespace
}  // namespace dtnn::ckks

int main(int argc, char** argv) { return dtnn::ckks::Run(argc, argv); }
