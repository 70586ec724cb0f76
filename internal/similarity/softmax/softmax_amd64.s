#include "textflag.h"

DATA most<>(SB)/4, $0x7f7fffff
GLOBL most<>(SB), RODATA|NOPTR, $4
DATA least<>(SB)/4, $0xff7fffff
GLOBL least<>(SB), RODATA|NOPTR, $4

// Adds the product of eight numbers of a query and a key to lanes. Y13 is overwritten.
#define ADD(query, key, sums) \
	VMULPS query, key, Y13 \
	VADDPS Y13, sums, sums

// In the macros of tiles, SI points to key 0, R9 to key 3, DI to query 0, all at the same element; DX is the length of
// a row in bytes. Lanes of query 0 are in Y0 to Y3, a register for each key, of query 1 in Y4 to Y7, of query 2 in Y8 to
// Y11.
#define ONE_BY_FOUR(at) \
	VMOVUPS at(DI), Y14 \
	ADD(at(SI), Y14, Y0) \
	ADD(at(SI)(DX*1), Y14, Y1) \
	ADD(at(SI)(DX*2), Y14, Y2) \
	ADD(at(R9), Y14, Y3)

#define KEY_OF_TWO(key, sums0, sums1) \
	VMOVUPS key, Y12 \
	ADD(Y14, Y12, sums0) \
	ADD(Y15, Y12, sums1)

#define TWO_BY_FOUR(at) \
	VMOVUPS at(DI), Y14 \
	VMOVUPS at(DI)(DX*1), Y15 \
	KEY_OF_TWO(at(SI), Y0, Y4) \
	KEY_OF_TWO(at(SI)(DX*1), Y1, Y5) \
	KEY_OF_TWO(at(SI)(DX*2), Y2, Y6) \
	KEY_OF_TWO(at(R9), Y3, Y7)

#define KEY_OF_THREE(key, at, sums0, sums1, sums2) \
	VMOVUPS key, Y12 \
	ADD(Y14, Y12, sums0) \
	ADD(Y15, Y12, sums1) \
	ADD(at(DI)(DX*2), Y12, sums2)

#define THREE_BY_FOUR(at) \
	VMOVUPS at(DI), Y14 \
	VMOVUPS at(DI)(DX*1), Y15 \
	KEY_OF_THREE(at(SI), at, Y0, Y4, Y8) \
	KEY_OF_THREE(at(SI)(DX*1), at, Y1, Y5, Y9) \
	KEY_OF_THREE(at(SI)(DX*2), at, Y2, Y6, Y10) \
	KEY_OF_THREE(at(R9), at, Y3, Y7, Y11)

// The last elements of rows whose dimension is no multiple of 8. Y15 has the mask.
#define MASKED(query, sums0, sums1, sums2, sums3) \
	VMASKMOVPS query, Y15, Y14 \
	VMASKMOVPS (SI), Y15, Y12 \
	ADD(Y14, Y12, sums0) \
	VMASKMOVPS (SI)(DX*1), Y15, Y12 \
	ADD(Y14, Y12, sums1) \
	VMASKMOVPS (SI)(DX*2), Y15, Y12 \
	ADD(Y14, Y12, sums2) \
	VMASKMOVPS (R9), Y15, Y12 \
	ADD(Y14, Y12, sums3)

// Adds up the lanes of four products, whose registers it overwrites. The sums are in x0, the lower half of y0.
#define TOTAL(y0, y1, y2, y3, x0) \
	VHADDPS y1, y0, y0 \
	VHADDPS y3, y2, y2 \
	VHADDPS y2, y0, y0 \
	VEXTRACTF128 $1, y0, X12 \
	VADDPS X12, x0, x0

// Replaces what is not finite. X14 has the least finite numbers, X15 the greatest. VMAXPS returns its first operand, as
// they are written here, where one of the two is NaN.
#define FINITE(x) \
	VMAXPS X14, x, x \
	VMINPS X15, x, x

#define CONSTANTS \
	VBROADCASTSS scale+64(FP), X13 \
	VBROADCASTSS least<>(SB), X14 \
	VBROADCASTSS most<>(SB), X15

#define STORE(y0, y1, y2, y3, x0, to) \
	TOTAL(y0, y1, y2, y3, x0) \
	VMULPS X13, x0, x0 \
	FINITE(x0) \
	VMOVUPS x0, to

// The frame of a function: R10 points to products, R11 to queries, R12 is the number of tiles, R13 that of whole eights
// in a row, BX the length of a row of products in bytes, AX the mask of the last elements or 0.
#define ARGUMENTS \
	MOVQ products+0(FP), R10 \
	MOVQ queries+8(FP), R11 \
	MOVQ keys+16(FP), SI \
	MOVQ n+24(FP), R12 \
	SHRQ $2, R12 \
	MOVQ dim+32(FP), R13 \
	LEAQ (R13*4), DX \
	SHRQ $3, R13 \
	MOVQ stride+40(FP), BX \
	SHLQ $2, BX \
	MOVQ mask+48(FP), AX

// Lines of keys that are computed with later are requested from memory: the processor does not foresee that, since four
// keys are read at a time.
#define BEGIN_TILE \
	MOVQ R11, DI \
	LEAQ (SI)(DX*2), R9 \
	ADDQ DX, R9 \
	MOVQ R13, CX

#define ADVANCE(bytes) \
	ADDQ $bytes, SI \
	ADDQ $bytes, R9 \
	ADDQ $bytes, DI

// The next key is the one behind key 3. R9 is as far from the end of its row as SI is.
#define END_TILE \
	MOVQ R11, R8 \
	ADDQ DX, R8 \
	SUBQ DI, R8 \
	LEAQ (R9)(R8*1), SI \
	ADDQ $16, R10

#define ZERO_1 \
	VXORPS Y0, Y0, Y0 \
	VXORPS Y1, Y1, Y1 \
	VXORPS Y2, Y2, Y2 \
	VXORPS Y3, Y3, Y3

#define ZERO_2 \
	ZERO_1 \
	VXORPS Y4, Y4, Y4 \
	VXORPS Y5, Y5, Y5 \
	VXORPS Y6, Y6, Y6 \
	VXORPS Y7, Y7, Y7

#define ZERO_3 \
	ZERO_2 \
	VXORPS Y8, Y8, Y8 \
	VXORPS Y9, Y9, Y9 \
	VXORPS Y10, Y10, Y10 \
	VXORPS Y11, Y11, Y11

#define MASKED_1 \
	MASKED((DI), Y0, Y1, Y2, Y3)

#define MASKED_2 \
	MASKED_1 \
	MASKED((DI)(DX*1), Y4, Y5, Y6, Y7)

#define MASKED_3 \
	MASKED_2 \
	MASKED((DI)(DX*2), Y8, Y9, Y10, Y11)

#define STORE_1 \
	STORE(Y0, Y1, Y2, Y3, X0, (R10))

#define STORE_2 \
	STORE_1 \
	STORE(Y4, Y5, Y6, Y7, X4, (R10)(BX*1))

#define STORE_3 \
	STORE_2 \
	STORE(Y8, Y9, Y10, Y11, X8, (R10)(BX*2))

// The body of a function for a number of queries, of the macros for that number.
#define PRODUCTS(ZERO, EIGHT, LAST, STORES) \
	ARGUMENTS \
tile: \
	MOVQ ahead+56(FP), R8 \
	TESTQ R8, R8 \
	JZ begin \
	ADDQ SI, R8 \
	MOVQ DX, R9 \
prefetch: \
	PREFETCHT1 (R8) \
	PREFETCHT1 64(R8) \
	ADDQ $128, R8 \
	SUBQ $32, R9 \
	JGT prefetch \
begin: \
	BEGIN_TILE \
	ZERO \
	SUBQ $2, CX \
	JL odd \
loop: \
	EIGHT(0) \
	EIGHT(32) \
	ADVANCE(64) \
	SUBQ $2, CX \
	JGE loop \
odd: \
	ADDQ $2, CX \
	JZ last \
	EIGHT(0) \
	ADVANCE(32) \
last: \
	TESTQ AX, AX \
	JZ done \
	VMOVUPS (AX), Y15 \
	LAST \
done: \
	CONSTANTS \
	STORES \
	END_TILE \
	DECQ R12 \
	JNZ tile \
	VZEROUPPER \
	RET

// func products1(products, queries, keys *float32, n, dim, stride int, mask *int32, ahead int, scale float32)
TEXT ·products1(SB), NOSPLIT, $0-68
	PRODUCTS(ZERO_1, ONE_BY_FOUR, MASKED_1, STORE_1)

// func products2(products, queries, keys *float32, n, dim, stride int, mask *int32, ahead int, scale float32)
TEXT ·products2(SB), NOSPLIT, $0-68
	PRODUCTS(ZERO_2, TWO_BY_FOUR, MASKED_2, STORE_2)

// func products3(products, queries, keys *float32, n, dim, stride int, mask *int32, ahead int, scale float32)
TEXT ·products3(SB), NOSPLIT, $0-68
	PRODUCTS(ZERO_3, THREE_BY_FOUR, MASKED_3, STORE_3)

// func lanesOf(a, b *float32, n int, s *[width]float32)
TEXT ·lanesOf(SB), NOSPLIT, $0-32
	MOVQ a+0(FP), SI
	MOVQ b+8(FP), DI
	MOVQ n+16(FP), CX
	MOVQ s+24(FP), DX
	LEAQ (SI)(CX*4), SI
	LEAQ (DI)(CX*4), DI
	NEGQ CX
	VXORPS Y0, Y0, Y0

lanesLoop:
	VMOVUPS (SI)(CX*4), Y1
	ADD((DI)(CX*4), Y1, Y0)
	ADDQ $8, CX
	JNZ lanesLoop
	VMOVUPS Y0, (DX)
	VZEROUPPER
	RET

// func greatestOf(x *float32, n int) float32
TEXT ·greatestOf(SB), NOSPLIT, $0-20
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	VMOVUPS (SI), Y0
	VMOVUPS -32(SI)(CX*4), Y1 // the last eight, some of them twice
	VMAXPS Y1, Y0, Y0
	VMOVAPS Y0, Y1
	VMOVAPS Y0, Y2
	VMOVAPS Y0, Y3
	SUBQ $32, CX
	JL rest

greatestLoop:
	VMAXPS (SI), Y0, Y0
	VMAXPS 32(SI), Y1, Y1
	VMAXPS 64(SI), Y2, Y2
	VMAXPS 96(SI), Y3, Y3
	ADDQ $128, SI
	SUBQ $32, CX
	JGE greatestLoop

rest:
	ADDQ $24, CX
	JL halves

restLoop:
	VMAXPS (SI), Y0, Y0
	ADDQ $32, SI
	SUBQ $8, CX
	JGE restLoop

halves:
	VMAXPS Y1, Y0, Y0
	VMAXPS Y3, Y2, Y2
	VMAXPS Y2, Y0, Y0
	VEXTRACTF128 $1, Y0, X1
	VMAXPS X1, X0, X0
	VPERMILPS $0x4e, X0, X1
	VMAXPS X1, X0, X0
	VPERMILPS $0xb1, X0, X1
	VMAXPS X1, X0, X0
	VMOVSS X0, ret+16(FP)
	VZEROUPPER
	RET

// func expOfMany(dst, x *float32, n int, shift float32, sums *lanes, table *[constants][width]float32)
TEXT ·expOfMany(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTSS shift+24(FP), Y15
	MOVQ sums+32(FP), DX
	MOVQ table+40(FP), R8
	LEAQ (DI)(CX*4), DI
	LEAQ (SI)(CX*4), SI
	NEGQ CX
	VMOVUPD (DX), Y8
	VMOVUPD 32(DX), Y9
	VMOVUPS 0(R8), Y10   // log2 e
	VMOVUPS 32(R8), Y11  // magic
	VMOVUPS 64(R8), Y12  // the higher part of ln 2
	VMOVUPS 96(R8), Y13  // the lower part
	VMOVUPS 128(R8), Y14 // c4

expLoop:
	VMOVUPS (SI)(CX*4), Y0
	VSUBPS Y15, Y0, Y0
	VMULPS Y10, Y0, Y1
	VADDPS Y11, Y1, Y1 // t
	VSUBPS Y11, Y1, Y2 // n
	VMULPS Y12, Y2, Y3
	VMULPS Y13, Y2, Y2
	VSUBPS Y3, Y0, Y3
	VSUBPS Y2, Y3, Y3 // r
	VMULPS Y3, Y14, Y4
	VADDPS 160(R8), Y4, Y4
	VMULPS Y3, Y4, Y4
	VADDPS 192(R8), Y4, Y4
	VMULPS Y3, Y4, Y4
	VADDPS 224(R8), Y4, Y4
	VMULPS Y3, Y4, Y4
	VMULPS Y3, Y3, Y5
	VADDPS 256(R8), Y4, Y4
	VMULPS Y5, Y4, Y4
	VADDPS Y3, Y4, Y4
	VADDPS 288(R8), Y4, Y4 // p
	VPSLLD $23, Y1, Y1
	VPADDD Y1, Y4, Y4
	VCMPPS $0x11, 320(R8), Y0, Y5 // less than the least exponent
	VANDNPS Y4, Y5, Y4
	VCMPPS $0x16, 352(R8), Y0, Y5 // not at most the most exponent
	VADDPS 384(R8), Y0, Y6 // +Inf or NaN
	VBLENDVPS Y5, Y6, Y4, Y4
	VMOVUPS Y4, (DI)(CX*4)
	VCVTPS2PD X4, Y5
	VEXTRACTF128 $1, Y4, X6
	VCVTPS2PD X6, Y6
	VADDPD Y5, Y8, Y8
	VADDPD Y6, Y9, Y9
	ADDQ $8, CX
	JNZ expLoop
	VMOVUPD Y8, (DX)
	VMOVUPD Y9, 32(DX)
	VZEROUPPER
	RET

// func multiplyMany(x *float32, n int, by float32)
TEXT ·multiplyMany(SB), NOSPLIT, $0-20
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	VBROADCASTSS by+16(FP), Y1
	LEAQ (SI)(CX*4), SI
	NEGQ CX

multiplyLoop:
	VMULPS (SI)(CX*4), Y1, Y0
	VMOVUPS Y0, (SI)(CX*4)
	ADDQ $8, CX
	JNZ multiplyLoop
	VZEROUPPER
	RET

// func addMany(dst, x *float32, n int)
TEXT ·addMany(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	LEAQ (DI)(CX*4), DI
	LEAQ (SI)(CX*4), SI
	NEGQ CX

addLoop:
	VMOVUPS (SI)(CX*4), Y0
	VADDPS (DI)(CX*4), Y0, Y0
	VMOVUPS Y0, (DI)(CX*4)
	ADDQ $8, CX
	JNZ addLoop
	VZEROUPPER
	RET

// In the macros of addRows R8 points to weights, R9 to the list of rows, R10 to values, DX is the length of a row in
// bytes. ROW sets a pointer to the row at a place of the list, and a register to its weights.
#define ROW(at, pointer, weight) \
	MOVLQSX at(R9), pointer \
	VBROADCASTSS (R8)(pointer*4), weight \
	IMULQ DX, pointer \
	ADDQ R10, pointer

// Requests a later row from memory.
#define FETCH(at, loop) \
	MOVLQSX at(R9), R14 \
	IMULQ DX, R14 \
	ADDQ R10, R14 \
	MOVQ DX, R13 \
loop: \
	PREFETCHT1 (R14) \
	PREFETCHT1 64(R14) \
	ADDQ $128, R14 \
	SUBQ $128, R13 \
	JGT loop

#define FOUR(at) \
	VMULPS at(AX)(R13*1), Y8, Y1 \
	VMULPS at(BX)(R13*1), Y9, Y2 \
	VMULPS at(SI)(R13*1), Y10, Y3 \
	VMULPS at(DI)(R13*1), Y11, Y4 \
	VADDPS at(R12)(R13*1), Y1, Y0 \
	VADDPS Y2, Y0, Y0 \
	VADDPS Y3, Y0, Y0 \
	VADDPS Y4, Y0, Y0 \
	VMOVUPS Y0, at(R12)(R13*1)

#define MASKED_ROW(row, weight) \
	VMASKMOVPS row, Y15, Y1 \
	VMULPS Y1, weight, Y1 \
	VADDPS Y1, Y0, Y0

// How many bytes of the list of rows, 4 for each row, are between a row and the one that is requested from memory.
#define AHEAD 256

// func addRows(dst, weights *float32, rows *int32, n int, values *float32, dim int, mask *int32)
TEXT ·addRows(SB), NOSPLIT, $0-56
	MOVQ dst+0(FP), R12
	MOVQ weights+8(FP), R8
	MOVQ rows+16(FP), R9
	MOVQ n+24(FP), R11
	MOVQ values+32(FP), R10
	MOVQ dim+40(FP), DX
	SHLQ $2, DX
	MOVQ mask+48(FP), CX
	TESTQ CX, CX
	JZ four
	VMOVUPS (CX), Y15

four:
	SUBQ $4, R11
	JL rest
	CMPQ R11, $(AHEAD/4)
	JL near
	FETCH((AHEAD+0), fetch0)
	FETCH((AHEAD+4), fetch1)
	FETCH((AHEAD+8), fetch2)
	FETCH((AHEAD+12), fetch3)

near:
	ROW(0, AX, Y8)
	ROW(4, BX, Y9)
	ROW(8, SI, Y10)
	ROW(12, DI, Y11)
	XORQ R13, R13
	MOVQ DX, CX
	SUBQ $64, CX
	JL odd

fourLoop:
	FOUR(0)
	FOUR(32)
	ADDQ $64, R13
	SUBQ $64, CX
	JGE fourLoop

odd:
	ADDQ $32, CX
	JL lastOfFour
	FOUR(0)
	ADDQ $32, R13
	SUBQ $32, CX

lastOfFour:
	ADDQ $32, CX
	JZ nextFour
	VMASKMOVPS (R12)(R13*1), Y15, Y0
	MASKED_ROW((AX)(R13*1), Y8)
	MASKED_ROW((BX)(R13*1), Y9)
	MASKED_ROW((SI)(R13*1), Y10)
	MASKED_ROW((DI)(R13*1), Y11)
	VMASKMOVPS Y0, Y15, (R12)(R13*1)

nextFour:
	ADDQ $16, R9
	JMP four

rest:
	ADDQ $4, R11
	JZ done

one:
	ROW(0, AX, Y8)
	XORQ R13, R13
	MOVQ DX, CX
	SUBQ $32, CX
	JL lastOfOne

oneLoop:
	VMULPS (AX)(R13*1), Y8, Y1
	VADDPS (R12)(R13*1), Y1, Y0
	VMOVUPS Y0, (R12)(R13*1)
	ADDQ $32, R13
	SUBQ $32, CX
	JGE oneLoop

lastOfOne:
	ADDQ $32, CX
	JZ nextOne
	VMASKMOVPS (R12)(R13*1), Y15, Y0
	MASKED_ROW((AX)(R13*1), Y8)
	VMASKMOVPS Y0, Y15, (R12)(R13*1)

nextOne:
	ADDQ $4, R9
	DECQ R11
	JNZ one

done:
	VZEROUPPER
	RET

// In the macros of addRowsOfFour SI points to a row, at a column, R14 to the next row that is requested from memory.
// Y0 to Y7 have the sums of 16 columns, two registers for each query, or Y0, Y2, Y4 and Y6 those of 8.
#define WEIGHTED_16(pointer, sums0, sums1) \
	VBROADCASTSS (pointer)(AX*4), Y12 \
	VMULPS Y8, Y12, Y13 \
	VMULPS Y9, Y12, Y14 \
	VADDPS Y13, sums0, sums0 \
	VADDPS Y14, sums1, sums1

#define WEIGHTED_8(pointer, sums) \
	VBROADCASTSS (pointer)(AX*4), Y12 \
	VMULPS Y8, Y12, Y13 \
	VADDPS Y13, sums, sums

// Sets a pointer to the sums of a query at the column.
#define SUMS_OF(query, pointer) \
	MOVQ dst+0(FP), pointer \
	MOVQ (8*query)(pointer), pointer

// OF_FOUR does something with the sums of each query, and the register or registers that have them.
#define OF_FOUR(do) \
	SUMS_OF(0, AX) \
	do(Y0, Y1) \
	SUMS_OF(1, AX) \
	do(Y2, Y3) \
	SUMS_OF(2, AX) \
	do(Y4, Y5) \
	SUMS_OF(3, AX) \
	do(Y6, Y7)

#define LOAD_8(sums, none) \
	VMOVUPS (AX)(DI*1), sums

#define LOAD_16(sums0, sums1) \
	VMOVUPS (AX)(DI*1), sums0 \
	VMOVUPS 32(AX)(DI*1), sums1

#define LOAD_MASKED(sums, none) \
	VMASKMOVPS (AX)(DI*1), Y15, sums

#define KEEP_8(sums, none) \
	VMOVUPS sums, (AX)(DI*1)

#define KEEP_16(sums0, sums1) \
	VMOVUPS sums0, (AX)(DI*1) \
	VMOVUPS sums1, 32(AX)(DI*1)

#define KEEP_MASKED(sums, none) \
	VMASKMOVPS sums, Y15, (AX)(DI*1)

#define NEXT_ROW \
	MOVLQSX (R9), AX \
	MOVQ AX, SI \
	IMULQ DX, SI

// func addRowsOfFour(dst, weights *[4]*float32, rows *int32, n, ahead int, values *float32, dim int, mask *int32)
TEXT ·addRowsOfFour(SB), NOSPLIT, $0-64
	MOVQ weights+8(FP), AX
	MOVQ (AX), R8
	MOVQ 8(AX), R11
	MOVQ 16(AX), R12
	MOVQ 24(AX), R13
	MOVQ ahead+32(FP), BX
	MOVQ values+40(FP), R10
	MOVQ dim+48(FP), DX
	SHLQ $2, DX
	XORQ DI, DI // bytes of the row that are done
	JMP sixteen

columns:
	MOVQ rows+16(FP), R9
	MOVQ n+24(FP), CX
	OF_FOUR(LOAD_16)

rows16:
	MOVLQSX (R9)(BX*4), R14
	IMULQ DX, R14
	NEXT_ROW
	PREFETCHT0 (R10)(R14*1)
	VMOVUPS (R10)(SI*1), Y8
	VMOVUPS 32(R10)(SI*1), Y9
	WEIGHTED_16(R8, Y0, Y1)
	WEIGHTED_16(R11, Y2, Y3)
	WEIGHTED_16(R12, Y4, Y5)
	WEIGHTED_16(R13, Y6, Y7)
	ADDQ $4, R9
	DECQ CX
	JNZ rows16
	OF_FOUR(KEEP_16)
	ADDQ $64, DI
	ADDQ $64, R10

sixteen:
	LEAQ 64(DI), AX
	CMPQ AX, DX
	JLE columns
	LEAQ 32(DI), AX
	CMPQ AX, DX
	JGT last
	MOVQ rows+16(FP), R9
	MOVQ n+24(FP), CX
	OF_FOUR(LOAD_8)

rows8:
	NEXT_ROW
	VMOVUPS (R10)(SI*1), Y8
	WEIGHTED_8(R8, Y0)
	WEIGHTED_8(R11, Y2)
	WEIGHTED_8(R12, Y4)
	WEIGHTED_8(R13, Y6)
	ADDQ $4, R9
	DECQ CX
	JNZ rows8
	OF_FOUR(KEEP_8)
	ADDQ $32, DI
	ADDQ $32, R10

last:
	CMPQ DI, DX
	JE done
	MOVQ mask+56(FP), AX
	VMOVUPS (AX), Y15
	MOVQ rows+16(FP), R9
	MOVQ n+24(FP), CX
	OF_FOUR(LOAD_MASKED)

rowsLast:
	NEXT_ROW
	VMASKMOVPS (R10)(SI*1), Y15, Y8
	WEIGHTED_8(R8, Y0)
	WEIGHTED_8(R11, Y2)
	WEIGHTED_8(R12, Y4)
	WEIGHTED_8(R13, Y6)
	ADDQ $4, R9
	DECQ CX
	JNZ rowsLast
	OF_FOUR(KEEP_MASKED)

done:
	VZEROUPPER
	RET

DATA ascending<>+0(SB)/8, $0x0000000100000000
DATA ascending<>+8(SB)/8, $0x0000000300000002
DATA ascending<>+16(SB)/8, $0x0000000500000004
DATA ascending<>+24(SB)/8, $0x0000000700000006
GLOBL ascending<>(SB), RODATA|NOPTR, $32

// func collectMany(positions, keys *int32, numbers *float32, n int, least int32, moves *[256][8]uint8) int
TEXT ·collectMany(SB), NOSPLIT, $0-56
	MOVQ positions+0(FP), DI
	MOVQ keys+8(FP), SI
	MOVQ numbers+16(FP), R8
	MOVQ n+24(FP), CX
	VBROADCASTSS least+32(FP), Y15
	MOVQ moves+40(FP), R9
	VMOVDQU ascending<>(SB), Y14 // positions
	VPCMPEQD Y13, Y13, Y13
	VPSRLD $31, Y13, Y13
	VPSLLD $3, Y13, Y13 // 8
	VXORPS Y12, Y12, Y12
	XORQ AX, AX // how many are collected
	LEAQ (R8)(CX*4), R8
	NEGQ CX

collectLoop:
	VADDPS (R8)(CX*4), Y12, Y0
	VPSRAD $31, Y0, Y1
	VPSRLD $1, Y1, Y1
	VPXOR Y1, Y0, Y0 // keys
	VPCMPGTD Y0, Y15, Y1
	VMOVMSKPS Y1, BX
	XORL $255, BX
	VPMOVZXBD (R9)(BX*8), Y2
	VPERMD Y0, Y2, Y3
	VPERMD Y14, Y2, Y4
	VMOVDQU Y3, (SI)(AX*4)
	VMOVDQU Y4, (DI)(AX*4)
	POPCNTL BX, BX
	ADDQ BX, AX
	VPADDD Y13, Y14, Y14
	ADDQ $8, CX
	JNZ collectLoop
	MOVQ AX, ret+48(FP)
	VZEROUPPER
	RET
