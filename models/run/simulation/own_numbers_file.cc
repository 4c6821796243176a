#include "models/run/simulation/own_numbers_file.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "tensor/errors.h"
#include "tensor/files/array_file.h"

namespace dtnn {
namespace {

constexpr char kRound[] = "__round__", kClients[] = "__clients__";

std::string PathOf(const std::string& folder, int64_t round) {
  return StrCat(folder, "/clients-", round, ".npz");
}
std::string NameOf(int client) { return StrCat("client-", client); }

absl::StatusOr<std::vector<float>> Read(ArrayFileReader& file, int client, size_t size) {
  const std::string name = NameOf(client);
  DTNN_ASSIGN_OR_RETURN(const Shape shape, file.ReadShape(name));
  if (shape == Shape{int64_t(size)}) {
    DTNN_ASSIGN_OR_RETURN(const Tensor tensor, file.Read(name));
    const std::span<const float> numbers(tensor.data<float>(), size);
    if (tensor.dtype() == DType::kFloat32 &&
        std::ranges::all_of(numbers, [](float x) { return std::isfinite(x); })) {
      return std::vector<float>(numbers.begin(), numbers.end());
    }
  }
  return DataLoss(file.file(), ": \"", name, "\" is not an array of ", size,
                  " finite numbers; is it damaged?");
}

}  // namespace

absl::Status SaveOwnNumbers(const std::string& folder, int64_t round, const LocalParameters& own) {
  NamedTensors arrays;
  for (int client = 0; client < int(own.clients()); ++client) {
    if (!own.HasOwn(client)) continue;
    DTNN_ASSIGN_OR_RETURN(Tensor tensor,
                          Tensor::Zeros(DType::kFloat32, Shape{int64_t(own.size())}));
    std::ranges::copy(own.Begin(client), tensor.data<float>());
    arrays.emplace_back(NameOf(client), std::move(tensor));
  }
  DTNN_RETURN_IF_ERROR(WriteArrayFile(
      PathOf(folder, round), arrays, {{kRound, StrCat(round)}, {kClients, StrCat(own.clients())}}));
  std::error_code nothing_to_remove;
  std::filesystem::remove(PathOf(folder, round - 3), nothing_to_remove);
  return absl::OkStatus();
}

absl::Status LoadOwnNumbers(const std::string& folder, int64_t round, LocalParameters& own) {
  const std::string path = PathOf(folder, round);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return NotFound("there is no ", path, ", with what stayed with the clients after round ", round,
                    "; begin a new federation in another folder");
  }
  DTNN_ASSIGN_OR_RETURN(ArrayFileReader file, ArrayFileReader::Open(path));
  DTNN_ASSIGN_OR_RETURN(const std::optional<std::string> of_round, file.Text(kRound));
  DTNN_ASSIGN_OR_RETURN(const std::optional<std::string> clients, file.Text(kClients));
  if (of_round != StrCat(round) || clients != StrCat(own.clients())) {
    return DataLoss(path, ": is not of round ", round, " of ", own.clients(), " clients");
  }
  std::vector<std::pair<int, std::vector<float>>> read;
  for (int client = 0; client < int(own.clients()); ++client) {
    if (!file.Contains(NameOf(client))) continue;
    DTNN_ASSIGN_OR_RETURN(std::vector<float> numbers, Read(file, client, own.size()));
    read.emplace_back(client, std::move(numbers));
  }
  for (auto& [client, numbers] : read) {
    own.Keep(client, std::move(numbers));
    own.Accept(client);
  }
  return absl::OkStatus();
}

}  // namespace dtnn
