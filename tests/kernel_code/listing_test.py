"""How listings are read, loads in flight counted, and bounds compared."""
import os
import tempfile
import unittest

import bounds
from compile import Kernel, without_parameters
from listing import read_ptx, read_sass
from measures import Traffic, innermost_loops, loads_in_flight, occupancy, traffic

PTX = """
.visible .entry kernel(
	.param .u64 kernel_param_0
)
.maxntid 128
{
	.reg .pred 	%p<3>;
	ld.param.u64 	%rd1, [kernel_param_0];
$L__BB0_1:
	ld.global.v4.u32 	{%r1, %r2, %r3, %r4}, [%rd1];
	ld.global.v4.u32 	{%r5, %r6, %r7, %r8}, [%rd1+16];
	{  cvt.f32.f16 %f1, %rs1;}
	@%p1 st.global.b32 	[%rd1], %r5; // a comment
	@%p2 bra 	$L__BB0_1;
	ret;
}

.visible .entry other(
	.param .u64 other_param_0
)
{
	ld.global.nc.u16 	%rs1, [%rd1];
	ret;
}
"""

# Two loads of 16 bytes in flight in the first loop, one in the second; one load of 4 bytes before.
SASS = """
.text.kernel:
        /*0000*/                   LDG.E R9, desc[UR4][R6.64] ;
        /*0010*/                   CALL.REL.NOINC `($__internal_0_$__cuda_sm20_div_s64) ;
.L_x_1:
        /*0020*/                   LDG.E.128 R8, desc[UR4][R2.64] ;
        /*0030*/                   IADD3 R2, P0, R2, R4, RZ ;
        /*0040*/               @P1 LDG.E.128 R12, desc[UR4][R2.64+0x10] ;
        /*0050*/                   FADD R0, R0, R10 ;
        /*0060*/                   FADD R0, R0, R15 ;
        /*0070*/              @!P0 CALL.REL.NOINC `(.L_x_1) ;
        /*0080*/                   CALL.REL.NOINC `($__internal_0_$__cuda_sm20_div_s64) ;
        /*0090*/               @P0 BRA `(.L_x_1) ;
.L_x_2:
        /*00a0*/                   LDG.E.128 R8, desc[UR4][R2.64] ;
        /*00b0*/                   FADD R0, R0, R8 ;
        /*00c0*/                   LDG.E.128 R8, desc[UR4][R4.64] ;
        /*00d0*/                   STG.E.U16 desc[UR4][R2.64], R8 ;
        /*00e0*/               @P0 BRA `(.L_x_2) ;
        /*00f0*/                   EXIT ;
.L_x_3:
        /*0100*/                   BRA `(.L_x_3);
$__internal_0_$__cuda_sm20_div_s64:
        /*0110*/                   LDG.E.128 R8, desc[UR4][R2.64] ;
"""

TABLE = """
# kernel  types  registers  load  flight  store  threads  calls
[a.cu]
Kernel 8  fp16,bf16  64  16  4  -  1024  0  # a comment
Kernel    any        -   -   -  -  -     -
[b.cu]
"""


class ListingTest(unittest.TestCase):
    def test_ptx(self):
        kernels = read_ptx(PTX)
        body, threads = kernels["kernel"]
        self.assertEqual([code.load for code in body if code.load], [16, 16])
        self.assertEqual([code.store for code in body if code.store], [4])
        self.assertEqual(body[2].defines, {"%r1", "%r2", "%r3", "%r4"})
        self.assertEqual(len(innermost_loops(body)), 1)
        self.assertEqual(threads, 128)
        body, threads = kernels["other"]
        self.assertEqual([code.load for code in body], [2, 0])
        self.assertIsNone(threads)

    def test_sass(self):
        body = read_sass(SASS)["kernel"]
        first, second = innermost_loops(body)
        self.assertEqual((loads_in_flight(first, 16), loads_in_flight(second, 16)), (2, 1))
        self.assertEqual(traffic(body), Traffic(load=16, flight=1, store=2, calls=1))
        # Without loops all of it counts.
        straight = [code for code in body if not code.target]
        self.assertEqual(traffic(straight).flight, 2)

    def test_loads_of_the_last_turn_are_under_way_in_the_next(self):
        loop = innermost_loops(read_sass("""
.text.kernel:
.L_x_1:
        /*0000*/                   FADD R0, R0, R8 ;
        /*0010*/                   FADD R1, R1, R12 ;
        /*0020*/                   LDG.E.128 R8, desc[UR4][R2.64] ;
        /*0030*/                   LDG.E.128 R12, desc[UR4][R2.64] ;
        /*0040*/               @P0 BRA `(.L_x_1) ;
""")["kernel"])[0]
        self.assertEqual(loads_in_flight(loop, 16), 2)

    def test_names(self):
        self.assertEqual(without_parameters("Kernel<8, F<(Kind)1, true> >(long, F<(Kind)1>)"),
                         "Kernel<8, F<(Kind)1, true> >")


class OccupancyTest(unittest.TestCase):
    def test_registers(self):
        for registers, threads in ((32, 2048), (33, 1536), (64, 1024), (80, 768), (128, 512),
                                   (255, 256)):
            self.assertEqual(occupancy("sm_90", 256, registers, 0), threads, registers)

    def test_shared_memory(self):
        self.assertEqual(occupancy("sm_90", 256, 32, 100 << 10), 512)
        self.assertEqual(occupancy("sm_80", 256, 32, 100 << 10), 256)

    def test_blocks(self):
        self.assertEqual(occupancy("sm_90", 32, 16, 0), 1024)
        self.assertEqual(occupancy("sm_90", 768, 32, 0), 1536)


class BoundsTest(unittest.TestCase):
    good = Kernel("Kernel<8, F<__half> >", 64, 0, 0, 1024, Traffic(16, 1, 4, 3),
                  Traffic(16, 4, 4, 0))

    def setUp(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "bounds.txt")
            with open(path, "w") as file:
                file.write(TABLE)
            self.table = bounds.read(path)

    def test_rows(self):
        self.assertEqual({name: len(rows) for name, rows in self.table.items()},
                         {"a.cu": 2, "b.cu": 0})
        first, second = self.table["a.cu"]
        rows = self.table["a.cu"]
        self.assertIs(bounds.row_of(self.good, rows), first)
        self.assertIs(bounds.row_of(self.good._replace(name="Kernel<8, F<float> >"), rows), second)
        self.assertIs(bounds.row_of(self.good._replace(name="Kernel<1, F<__half> >"), rows), second)
        self.assertIsNone(bounds.row_of(self.good._replace(name="Another<8, __half>"), rows))

    def test_what_is_broken(self):
        row = self.table["a.cu"][0]
        ptx, sass = self.good.ptx, self.good.sass
        self.assertEqual(bounds.broken(self.good, row), [])
        for change, words in (
                ({"registers": 65}, "registers: 65, most 64"),
                ({"threads": 768}, "threads: 768, least 1024"),
                ({"spills": 8}, "8 bytes of spilled registers or stack"),
                ({"ptx": ptx._replace(load=8)}, "load: 8, least 16"),
                ({"sass": sass._replace(load=8)}, "load in SASS: 8, least 16"),
                ({"sass": sass._replace(flight=3)}, "flight in SASS: 3, least 4"),
                ({"sass": sass._replace(calls=1)}, "calls in SASS: 1, most 0")):
            self.assertEqual(bounds.broken(self.good._replace(**change), row), [words])
        self.assertEqual(bounds.broken(self.good._replace(sass=None), row), [])


if __name__ == "__main__":
    unittest.main()
