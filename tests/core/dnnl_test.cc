// Orders of elements keep their blocks in every type, with oneDNN 2 and 3.
#include "core/cpu/dnnl.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gf {
namespace {

using dnnl::memory;
using tag = memory::format_tag;
using type = memory::data_type;

struct Order {
  memory::dims dims;
  tag format;
  std::string name;
};

// Layouts of activations and weights, with padded blocks, blocks in blocks, groups, and axes of
// extent 1, for which several formats are equal.
const std::vector<Order>& Orders() {
  static const auto* orders = new std::vector<Order>{
      {{2, 40, 5, 3}, tag::nChw16c, "aBcd16b"},
      {{2, 40, 5, 3}, tag::nChw8c, "aBcd8b"},
      {{2, 40, 5, 3}, tag::nhwc, "acdb"},
      {{32, 48, 3, 3}, tag::OIhw16i16o, "ABcd16b16a"},
      {{40, 24, 3, 3}, tag::OIhw8i16o2i, "ABcd8b16a2b"},
      {{40, 3, 7, 7}, tag::Ohwi16o, "Acdb16a"},
      {{2, 16, 32, 3, 3}, tag::gOIhw16i16o, "aBCde16c16b"},
      {{64, 48}, tag::BA16a16b, "BA16a16b"},
      {{24, 16, 1, 1}, tag::OIhw8i16o2i, ""},
      {{1, 16, 1, 1}, tag::nChw16c, ""},
  };
  return *orders;
}

TEST(DnnlTest, AnOrderKeepsItsBlocksInEveryType) {
  for (const Order& order : Orders()) {
    SCOPED_TRACE(order.name);
    const memory::desc fp32(order.dims, type::f32, order.format),
        bf16(order.dims, type::bf16, order.format);
    EXPECT_TRUE(Retyped(fp32, type::bf16) == bf16);
    EXPECT_TRUE(Retyped(bf16, type::f32) == fp32);
    EXPECT_TRUE(DnnlOrder(bf16).With(type::bf16) == bf16);
    EXPECT_EQ(DnnlType(bf16), type::bf16);
    EXPECT_EQ(DnnlDims(bf16), order.dims);
    if (!order.name.empty()) {
      EXPECT_EQ(DnnlLayoutName(fp32), order.name);
    }
  }
}

TEST(DnnlTest, LayoutsAreEqualWhateverTheType) {
  for (const Order& order : Orders()) {
    SCOPED_TRACE(order.name);
    const Layout layout = FromDnnl({order.dims, type::f32, order.format});
    EXPECT_TRUE(layout == FromDnnl({order.dims, type::bf16, order.format}));
    TensorDesc tensor;
    tensor.shape = Shape(order.dims);
    tensor.dtype = DType::kBF16;
    tensor.layout = layout;
    if (layout.plain()) continue;
    EXPECT_TRUE(ToDnnl(tensor) == memory::desc(order.dims, type::bf16, order.format));
  }
  EXPECT_FALSE(FromDnnl({{2, 40, 5, 3}, type::f32, tag::nChw16c}) ==
               FromDnnl({{2, 40, 5, 3}, type::f32, tag::nChw8c}));
  EXPECT_TRUE(FromDnnl({{2, 40, 5, 3}, type::f32, tag::nchw}).plain());
}

}  // namespace
}  // namespace gf
